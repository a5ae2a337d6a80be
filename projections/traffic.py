"""What a served run must know about its traffic: processes, the coin's salt, open proposals, and counts.

Rules
    - There are no rows for requests: anything that needs rows (`gain`, `publish`, `show`) reads the log.
"""

from collections import Counter
from collections.abc import Set
from typing import Any, ClassVar, Literal

import msgspec

from mage_es.events import vocabulary as v
from mage_es.events.segments import Columns, Reads
from mage_es.projections.protocol import Order, Projection, unread

ProposalVerdict = Literal["", "waiting", "approved", "published", "refused", "rejected"]
_FINAL = ("published", "refused", "rejected")


class Traffic(Projection):
    """`processes` is how many have served the run so far; `salt` and `holdback_micro` are those of the last one, or ""
    and 0. `treatments` and `outcomes` count inferences as they were opened and closed, `feedbacks` the feedback on
    them.
    """

    name: ClassVar[str] = "traffic"
    reads: ClassVar[Reads] = {
        v.ServingStarted: ("process", "salt", "holdback_micro"),
        v.InferenceOpened: ("treatment",),
        v.InferenceClosed: ("outcome",),
        v.FeedbackGiven: ("kind",),
        v.MemoryProposed: v.MemoryProposed.__struct_fields__,
        v.ProposalSettled: ("memory_id", "verdict"),
        v.ProposalReviewed: ("memory_id", "verdict"),
    }
    columnar: ClassVar[frozenset[type[v.Event]]] = frozenset({v.InferenceOpened, v.InferenceClosed, v.FeedbackGiven})
    # A proposal comes before its verdict.
    order: ClassVar[Order] = "global"

    def __init__(self) -> None:
        self.processes, self.salt, self.holdback_micro = 0, "", 0
        self.treatments, self.outcomes, self.feedbacks = Counter[str](), Counter[str](), Counter[str]()
        self._open: dict[str, v.MemoryProposed] = {}
        self._settled: dict[str, ProposalVerdict] = {}

    def apply(self, event: v.Event) -> None:
        match event:
            case v.InferenceOpened():
                self.treatments[event.treatment] += 1
            case v.InferenceClosed():
                self.outcomes[event.outcome] += 1
            case v.FeedbackGiven():
                self.feedbacks[event.kind] += 1
            case v.ServingStarted():
                self.processes, self.salt, self.holdback_micro = event.process, event.salt, event.holdback_micro
            case v.MemoryProposed():
                known = self._open.get(event.memory_id)
                if event.is_gold or not (known and known.is_gold):  # nothing said later outweighs gold
                    self._open[event.memory_id] = event
                self._settled.pop(event.memory_id, None)  # refused without ever being a memory
            case v.ProposalSettled() | v.ProposalReviewed():
                self._settled[event.memory_id] = event.verdict
                if event.verdict in _FINAL:
                    self._open.pop(event.memory_id, None)
            case _:
                raise unread(self, event)

    def apply_columns(self, cls: type[v.Event], columns: Columns) -> None:
        counts, field = {
            v.InferenceOpened: (self.treatments, "treatment"),
            v.InferenceClosed: (self.outcomes, "outcome"),
            v.FeedbackGiven: (self.feedbacks, "kind"),
        }[cls]
        counts.update(columns[field])

    def proposals(self, *verdicts: ProposalVerdict) -> list[v.MemoryProposed]:
        """Return by id the proposals with one of these verdicts: "", `waiting` or `approved`."""
        return [self._open[name] for name in sorted(self._open) if self.verdict(name) in verdicts]

    def proposal(self, memory_id: str) -> v.MemoryProposed | None:
        """Return the open proposal of a memory: the last, or the last by a key whose answers are gold."""
        return self._open.get(memory_id)

    def verdict(self, memory_id: str) -> ProposalVerdict:
        """Return the last decision on a proposal; "" if it has not been tried yet, or was never made."""
        return self._settled.get(memory_id, "")

    def decided(self) -> Set[str]:
        """Return the ids of the proposals that were decided on."""
        return self._settled.keys()

    def dump(self) -> Any:
        began = [self.processes, self.salt, self.holdback_micro]
        counts = [sorted(each.items()) for each in (self.treatments, self.outcomes, self.feedbacks)]
        return [began, *counts, sorted(self._settled.items()), [self._open[name] for name in sorted(self._open)]]

    def load(self, dumped: Any) -> None:
        began, *counts, settled, pending = dumped
        self.processes, self.salt, self.holdback_micro = began
        self.treatments, self.outcomes, self.feedbacks = (Counter(dict(each)) for each in counts)
        self._settled = dict(settled)
        self._open = {each.memory_id: each for each in msgspec.convert(pending, list[v.MemoryProposed])}
