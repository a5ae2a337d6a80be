"""Which task types were observed, and when each was last selected, as the round-robin needs it (Eq. 1)."""

from typing import Any, ClassVar, NamedTuple

import msgspec

from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Event, TargetsSelected
from mage_es.projections.protocol import Order, Projection, unread


class Covered(NamedTuple):
    """The iteration in which a task type was first seen, and the one in which it was last selected."""

    first_seen: int
    last_selected: int


class Coverage(Projection):
    """Every observed task type. One that was never selected counts as selected just before it was first seen."""

    name: ClassVar[str] = "coverage"
    reads: ClassVar[Reads] = {TargetsSelected: ("iteration", "targets", "newly_observed")}
    # A rollback does not undo this, or the same types would get their turn again (Theorem 2).
    order: ClassVar[Order] = "by_type"

    def __init__(self) -> None:
        self._types: dict[str, Covered] = {}

    def apply(self, event: Event) -> None:
        match event:
            case TargetsSelected():
                # Observed first: a type may be selected in the very iteration in which it was first seen. Counting it
                # as selected one iteration earlier gives it the recency of a type that has just had its turn.
                for task_type in event.newly_observed:
                    self._types[task_type] = Covered(event.iteration, event.iteration - 1)
                for target in event.targets:
                    seen = self._types[target.task_type]
                    self._types[target.task_type] = Covered(seen.first_seen, event.iteration)
            case _:
                raise unread(self, event)

    def observed(self) -> list[str]:
        return sorted(self._types)

    def last_selected(self, task_type: str) -> int:
        return self._types[task_type].last_selected

    def dump(self) -> Any:
        return self._types

    def load(self, dumped: Any) -> None:
        self._types = msgspec.convert(dumped, dict[str, Covered])
