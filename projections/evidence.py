"""Successes and failures of every skill, counted alongside the mastery ratchet but without its upward bias.

A rollback does not touch these counts: it takes back conclusions, not observations.
"""

from typing import Any, ClassVar, NamedTuple

import msgspec

from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Event, MasteryUpdated
from mage_es.projections.protocol import Order, Projection, unread


class Tally(NamedTuple):
    """Successes and failures of a skill so far; the estimate is Beta(1 + successes, 1 + failures)."""

    successes: int
    failures: int


class Evidence(Projection):
    name: ClassVar[str] = "evidence"
    reads: ClassVar[Reads] = {MasteryUpdated: ("skill", "successes", "failures")}
    order: ClassVar[Order] = "by_type"

    def __init__(self) -> None:
        self._tallies: dict[str, Tally] = {}

    def apply(self, event: Event) -> None:
        match event:
            case MasteryUpdated():
                # The event's counts, not its mastery: the ratchet's value is biased upward by design (Eq. 2).
                successes, failures = self.counts(event.skill)
                self._tallies[event.skill] = Tally(successes + event.successes, failures + event.failures)
            case _:
                raise unread(self, event)

    def counts(self, skill: str) -> Tally:
        # A skill that no fresh question exercised yet has no event: `lower_bound` of (0, 0) is that of the prior.
        return self._tallies.get(skill, Tally(0, 0))

    def dump(self) -> Any:
        return self._tallies

    def load(self, dumped: Any) -> None:
        self._tallies = msgspec.convert(dumped, dict[str, Tally])
