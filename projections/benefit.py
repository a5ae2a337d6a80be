"""What each task type is served, and in which form, according to the anchors' paired results at the last snapshot.

Rules
    - The record comes from `benefit.decided`; nothing is compared here.
    - Without such a record, what was learned is served untested.
"""

from typing import Any, ClassVar

import msgspec

from mage_es.events.segments import Reads
from mage_es.events.vocabulary import BenefitDecided, Event, FormDecided, Paired
from mage_es.projections.protocol import Order, Projection, unread


class Benefit(Projection):
    """`last` is the last decision, `form` the last one about the form of prompts; None before the first."""

    name: ClassVar[str] = "benefit"
    reads: ClassVar[Reads] = {
        BenefitDecided: BenefitDecided.__struct_fields__,
        FormDecided: FormDecided.__struct_fields__,
    }
    order: ClassVar[Order] = "by_type"

    def __init__(self) -> None:
        self.last: BenefitDecided | None = None
        self.form: FormDecided | None = None

    def apply(self, event: Event) -> None:
        match event:
            case BenefitDecided():
                self.last = event
            case FormDecided():
                self.form = event
            case _:
                raise unread(self, event)

    def is_bare(self, task_type: str) -> bool:
        """Return whether questions of a task type are served the bare prompt."""
        record = self.record(task_type)
        return record is not None and record.served == "bare"

    def may_recall(self, task_type: str) -> bool:
        """Return whether questions of a task type may be recalled. Where the bare prompt is served, they may only if
        recalled anchors beat it."""
        recalled = self.last.recalled if self.last else ()
        return not self.is_bare(task_type) or any(
            record.served == "learned" for record in recalled if record.task_type == task_type
        )

    def record(self, task_type: str) -> Paired | None:
        """Return the record that decides what a task type is served: its own, or else the one of all types together;
        None without anchors."""
        if self.last is None:
            return None
        own = (record for record in self.last.records if record.task_type == task_type)
        return next(own, self.last.pooled)

    def records(self) -> tuple[Paired, ...]:
        """Return all records, the one of all types together last; none if nothing was tested."""
        return (*self.last.records, self.last.pooled) if self.last else ()

    @property
    def stale(self) -> int:
        """How many anchors are counted by an answer given in an older state."""
        return self.last.stale if self.last else 0

    def dump(self) -> Any:
        return [msgspec.to_builtins(each) for each in (self.last, self.form)]

    def load(self, dumped: Any) -> None:
        last, form = dumped
        self.last, self.form = msgspec.convert(last, BenefitDecided | None), msgspec.convert(form, FormDecided | None)
