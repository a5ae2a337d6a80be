"""Verdicts in the order in which they are recorded: a scorer that fails several times in a row stops the run.

Rules
    - An answer on which the scorer failed waits for the next one. Once that is decided, or the phase is over, it is
      recorded as undecided, which is final. Several in a row stop the run, and none of them is recorded: a resumed run
      scores their recorded replies again.
    - Whatever was in flight then is finished, and recorded if it is decided.
"""

from collections.abc import Sequence

from mage_es.engine.courses import Finish
from mage_es.events.errors import PrerequisiteError
from mage_es.events.vocabulary import Draft

MOST_FAILED = 3
"""How many failures of a scorer in a row, over all workers, stop the run."""


class Streak:
    """The scorer's failures of one session; `problem` says why it must stop, "" if it need not."""

    def __init__(self) -> None:
        self.problem = ""
        self._failed = 0
        self._waiting: list[Draft] = []

    def settled(self, finish: Finish | None, drafts: Sequence[Draft]) -> Sequence[Draft]:
        """Return what to record now for an answer that `drafts` settle."""
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
        """Return the answers that still wait, which no later score can change."""
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
