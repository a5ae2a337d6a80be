"""What was counted beside the mastery ratchet: successes and failures of every skill, without its upward bias.

Protected: a rollback takes back what was concluded, not what was seen.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from mage_es.events.digests import digest
from mage_es.events.vocabulary import Event, MasteryUpdated
from mage_es.projections.protocol import Reads


class Tally(NamedTuple):
    """Successes and failures of a skill so far; the estimate is Beta(1 + successes, 1 + failures)."""

    successes: int
    failures: int


class Evidence:
    """The sums of what each `MasteryUpdated` counted in its iteration."""

    name: ClassVar[str] = "evidence"
    reads: ClassVar[Reads] = {MasteryUpdated: ("skill", "successes", "failures")}
    order: ClassVar[Literal["global", "by_type"]] = "by_type"
    slot: ClassVar[Literal["mutable", "protected"]] = "protected"

    def __init__(self) -> None:
        self._tallies: dict[str, Tally] = {}

    def apply(self, event: Event) -> None:
        """Add the counts of an update to the skill's totals."""
        match event:
            case MasteryUpdated():
                successes, failures = self.counts(event.skill)
                self._tallies[event.skill] = Tally(successes + event.successes, failures + event.failures)
            case _:
                raise TypeError(f"the evidence does not read {type(event).__name__}; it reads {list(self.reads)}")

    def counts(self, skill: str) -> Tally:
        """Return the totals of a skill, zeros before its first evidence."""
        return self._tallies.get(skill, Tally(0, 0))

    def digest(self) -> str:
        """Return the digest of all totals."""
        return digest(self._tallies)

    def dump(self) -> Any:
        """Return all totals."""
        return self._tallies

    def load(self, dumped: Any) -> None:
        """Take over what `dump` returned."""
        self._tallies = msgspec.convert(dumped, dict[str, Tally])
