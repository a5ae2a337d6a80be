"""Which memories are proved harmful, by what `effect` has on record (worth/effect.py).

Rules
    - One test for each memory, chosen by how many answers there are, not by what they say: the sign test of its pairs
      if there are `LEAST_PAIRS`, else Fisher's exact test of its coin if both sides have `live_gain.LEAST`. An
      association proves nothing.
    - A memory with fewer of both is left alone, and the correction does not count it.
    - Holm's correction over all that were looked at [Holm 1979], two-sided at 5 %: at most one such list in twenty has
      anything that does nothing. It holds under any dependence, unlike that of Benjamini and Hochberg: memories of one
      prompt share its answer.
    - It corrects for many memories, not for many looks: measuring more and looking again is another chance.
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
