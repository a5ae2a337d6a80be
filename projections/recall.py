"""How often the nearest cases would have answered correctly, and how often the model did, on the same questions.

Rules
    - The counts come from `recall.compared`; nothing is counted here.
"""

from typing import Any, ClassVar

import msgspec

from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Event, Recall, RecallCompared
from mage_es.projections.protocol import Order, Projection, unread


class RecallRecord(Projection):
    name: ClassVar[str] = "recall"
    reads: ClassVar[Reads] = {RecallCompared: RecallCompared.__struct_fields__}
    order: ClassVar[Order] = "by_type"

    def __init__(self) -> None:
        self._records: dict[tuple[str, int], Recall] = {}

    def apply(self, event: Event) -> None:
        match event:
            case RecallCompared():
                self._records |= {(record.task_type, record.agreement): record for record in event.records}
            case _:
                raise unread(self, event)

    def record(self, task_type: str, agreement: int) -> Recall:
        """Return a task type's counts for this level of agreement among the nearest cases; zeros if there are none."""
        none = Recall(task_type=task_type, agreement=agreement, questions=0, recalled=0, answered=0)
        return self._records.get((task_type, agreement), none)

    def records(self) -> tuple[Recall, ...]:
        """Return all records, by task type and agreement."""
        return tuple(self._records[key] for key in sorted(self._records))

    def dump(self) -> Any:
        return [msgspec.to_builtins(record) for record in self.records()]

    def load(self, dumped: Any) -> None:
        self._records = {(r.task_type, r.agreement): r for r in msgspec.convert(dumped, list[Recall])}
