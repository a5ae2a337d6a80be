"""What a served run must know of its traffic: processes, the coin's salt, proposals that wait, and counts.

Rules
    - Never a row for a request: what needs rows (`gain`, `publish`, `show`) reads the log.
"""

from collections import Counter
from typing import Any, ClassVar

import msgspec

from mage_es.events.digests import digest
from mage_es.events.segments import Columns, Reads
from mage_es.events.vocabulary import (
    Event,
    FeedbackGiven,
    InferenceClosed,
    InferenceOpened,
    MemoryProposed,
    ProposalSettled,
    ServingStarted,
)
from mage_es.projections.protocol import Order, unread


class Traffic:
    """`processes` is how many served the run so far; `salt` and `holdback_micro` are the last one's, "" and 0 of none.

    `treatments` and `outcomes` count inferences as they were opened and closed, `feedbacks` what was said of them.
    """

    name: ClassVar[str] = "traffic"
    reads: ClassVar[Reads] = {
        ServingStarted: ("process", "salt", "holdback_micro"),
        InferenceOpened: ("treatment",),
        InferenceClosed: ("outcome",),
        FeedbackGiven: ("kind",),
        MemoryProposed: MemoryProposed.__struct_fields__,
        ProposalSettled: ("memory_id", "verdict"),
    }
    columnar: ClassVar[frozenset[type[Event]]] = frozenset({InferenceOpened, InferenceClosed, FeedbackGiven})
    # A proposal comes before its verdict.
    order: ClassVar[Order] = "global"

    def __init__(self) -> None:
        self.processes, self.salt, self.holdback_micro = 0, "", 0
        self.treatments, self.outcomes, self.feedbacks = Counter[str](), Counter[str](), Counter[str]()
        self._pending: dict[str, MemoryProposed] = {}
        self._settled: dict[str, str] = {}

    def apply(self, event: Event) -> None:
        match event:
            case InferenceOpened():
                self.treatments[event.treatment] += 1
            case InferenceClosed():
                self.outcomes[event.outcome] += 1
            case FeedbackGiven():
                self.feedbacks[event.kind] += 1
            case ServingStarted():
                self.processes, self.salt, self.holdback_micro = event.process, event.salt, event.holdback_micro
            case MemoryProposed():
                self._pending[event.memory_id] = event
            case ProposalSettled():
                self._pending.pop(event.memory_id, None)
                self._settled[event.memory_id] = event.verdict
            case _:
                raise unread(self, event)

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        counts, field = {
            InferenceOpened: (self.treatments, "treatment"),
            InferenceClosed: (self.outcomes, "outcome"),
            FeedbackGiven: (self.feedbacks, "kind"),
        }[cls]
        counts.update(columns[field])

    def pending(self) -> list[MemoryProposed]:
        """Return the proposals that no publish has settled, by id."""
        return [self._pending[name] for name in sorted(self._pending)]

    def settled(self, memory_id: str) -> str:
        """Return `published` or `refused` of a proposal, "" of one that waits or was never made."""
        return self._settled.get(memory_id, "")

    def digest(self) -> str:
        return digest(self._values())

    def dump(self) -> Any:
        return self._values()

    def load(self, dumped: Any) -> None:
        began, *counts, settled, pending = dumped
        self.processes, self.salt, self.holdback_micro = began
        self.treatments, self.outcomes, self.feedbacks = (Counter(dict(each)) for each in counts)
        self._settled = dict(settled)
        self._pending = {each.memory_id: each for each in msgspec.convert(pending, list[MemoryProposed])}

    def _values(self) -> list[Any]:
        began = [self.processes, self.salt, self.holdback_micro]
        counts = [sorted(each.items()) for each in (self.treatments, self.outcomes, self.feedbacks)]
        return [began, *counts, sorted(self._settled.items()), self.pending()]
