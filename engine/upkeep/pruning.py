"""Which memories are proved harmful, by what `effect` has on record (rules/effect.py).

Rules
    - One test for each memory, chosen by how many answers there are, not by what they say: the sign test of its pairs
      if there are `LEAST_PAIRS`, else Fisher's exact test of its coin if both sides have `live_gain.LEAST`. An
      association proves nothing.
    - A memory with fewer of both is left alone, and is not among those that the correction is for.
    - Holm's correction over all that were looked at [Holm 1979], two-sided at 5 %: at most one such list in twenty has
      anything that does nothing. It holds whatever depends on what, unlike that of Benjamini and Hochberg: memories of
      one prompt share its answer.
    - It corrects for many memories, not for many looks: whoever measures more and looks again gets another chance.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

LEVEL = 0.05
"""How likely it may be that any of the memories taken out did nothing."""


class Suspect(NamedTuple):
    """A memory that is looked at: `points` by its best number, with that number's two-sided p."""

    memory_id: str
    by: Literal["re-ask", "coin"]
    points: float
    p: float


class ProvedHarm(NamedTuple):
    """A memory that is proved harmful; `corrected` is its p after Holm's correction."""

    trial: Suspect
    corrected: float


def proved_harmful(trials: Iterable[Suspect]) -> list[ProvedHarm]:
    """Return the harmful ones among all that were looked at, the surest first."""
    ordered = sorted(trials, key=lambda trial: (trial.p, trial.memory_id))
    corrected, found = 0.0, list[ProvedHarm]()
    for place, trial in enumerate(ordered):
        corrected = max(corrected, min(1.0, (len(ordered) - place) * trial.p))
        if corrected <= LEVEL and trial.points < 0:
            found.append(ProvedHarm(trial, corrected))
    return found
