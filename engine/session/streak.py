"""Records verdicts in order, and stops the run if a scorer fails several times in a row.

Rules
    - If the scorer fails on an answer, its verdict waits for the next answer. Once that one is decided, or the phase is
      over, the first is recorded as undecided, which is final. After several failures in a row the run stops, and none
      of them is recorded: a resumed run scores their recorded replies again.
    - What was in flight at that moment is finished, and recorded if it is decided.
"""

from collections.abc import Sequence

from mage_es.engine.courses import Finish
from mage_es.events.errors import PrerequisiteError
from mage_es.events.vocabulary import Draft

MOST_FAILED = 3
"""How many failures of a scorer in a row, over all workers, stop the run."""


class Streak:
    """The scorer's failures in one session. `problem` says why the session must stop, "" if it need not."""

    def __init__(self) -> None:
        self.problem = ""
        self._failed = 0
        self._waiting: list[Draft] = []

    def settled(self, finish: Finish | None, drafts: Sequence[Draft]) -> Sequence[Draft]:
        """Return what to record now, given an answer and the `drafts` that settle it."""
        verdict = finish.verdict if finish else None
        if verdict is None:
            return drafts
        if not (verdict.failed and verdict.undecided):
            if verdict.undecided or self.problem:
                return drafts
            self._failed = 0
            return (*self.rest(), *drafts)
        self._failed += 1
        self._waiting += drafts
        if self._failed >= MOST_FAILED:
            self.problem = self.problem or verdict.why
        return ()

    def rest(self) -> Sequence[Draft]:
        """Return the answers that still wait; no later score can change them."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def check(self) -> None:
        """Raise `PrerequisiteError` if the scorer failed too often in a row."""
        if self.problem:
            raise PrerequisiteError(
                f"The scorer failed on {MOST_FAILED} answers in a row, the last time with:\n  {self.problem}\n"
                "Their replies are recorded but not judged yet. Fix the scorer, then resume: it scores them again, "
                "and no call is repeated."
            )
