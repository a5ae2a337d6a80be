"""Which memories are proved harmful by the results that `effect` recorded (worth/effect.py).

Rules
    - Each memory gets one test, chosen by how many answers there are and not by what they say: the sign test of its
      pairs if there are at least `LEAST_PAIRS`, else Fisher's exact test of its coin tosses if both sides have at least
      `live_gain.LEAST`. An association proves nothing.
    - A memory with too few of both is left alone, and the correction does not count it.
    - Holm's correction covers all tested memories [Holm 1979], two-sided at 5 %: at most one list in twenty contains a
      memory that makes no difference. Unlike the correction of Benjamini and Hochberg it holds under any dependence,
      which matters because memories in one prompt share its answer.
    - It corrects for many memories, not for repeated looks: measuring more and testing again adds another chance of
      error.
"""

from collections.abc import Mapping

LEVEL = 0.05
"""The largest probability that any of the removed memories had no effect."""


def proved_harmful(looked_at: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """Return the p after correction of each harmful memory, by id, the most certain first. All tested memories are
    given by id, each with the points of the number chosen and its two-sided p."""
    corrected, found = 0.0, dict[str, float]()
    for place, name in enumerate(sorted(looked_at, key=lambda name: (looked_at[name][1], name))):
        points, p = looked_at[name]
        corrected = max(corrected, min(1.0, (len(looked_at) - place) * p))
        if corrected <= LEVEL and points < 0:
            found[name] = corrected
    return found
