"""The patterns abstracted from trajectories, with how often they held; the only nodes that may be pruned.

Rules
    - A pruned pattern never comes back into use. It stays stored, and is still counted, so that it is not abstracted
      again.
"""

from typing import Any, ClassVar

import msgspec

from mage_es.events import vocabulary as v
from mage_es.events.segments import Reads
from mage_es.projections.kept import Kept
from mage_es.projections.protocol import Order, unread
from mage_es.projections.slices import Birth, birth_of


class PatternRow(msgspec.Struct, frozen=True, array_like=True):
    """A pattern's current state: the fields of `PatternAbstracted` in order, with current counts and confidence."""

    memory_id: str
    task_type: str
    skill: str
    text: str
    successes: int
    failures: int
    confidence_micro: int
    origin: v.Origin
    iteration: int
    phase: v.Phase
    ordinal: int
    pruned: bool = False

    @property
    def birth(self) -> Birth:
        return birth_of(self.iteration, self.phase, self.ordinal)


class Patterns:
    name: ClassVar[str] = "patterns"
    reads: ClassVar[Reads] = {
        v.PatternAbstracted: v.PatternAbstracted.__struct_fields__,
        v.PatternSupported: ("memory_id", "successes", "failures", "confidence_micro"),
        v.PatternPruned: ("memory_id",),
        v.MemoryQuarantined: ("memory_id",),
        v.MemoryReleased: ("memory_id",),
    }
    # An event about a pattern names it, so the one that abstracts it must come first.
    order: ClassVar[Order] = "global"

    def __init__(self) -> None:
        self._patterns: Kept[PatternRow] = Kept()
        self._by_type: dict[str, list[str]] = {}

    def apply(self, event: v.Event) -> None:
        match event:
            case v.PatternSupported():
                self._change(
                    event.memory_id,
                    successes=event.successes,
                    failures=event.failures,
                    confidence_micro=event.confidence_micro,
                )
            case v.PatternAbstracted():
                # Equal ids are equal contents, and this one may carry older counts than those that are here.
                if event.memory_id not in self._patterns:
                    self._add(PatternRow(*msgspec.structs.astuple(event)))
            case v.PatternPruned():
                # Marked, not removed: the rule (engine/rules/patterns.py) must see it, so as not to abstract it again.
                self._change(event.memory_id, pruned=True)
            case v.MemoryQuarantined() | v.MemoryReleased():
                self._patterns.curate(event)
            case _:
                raise unread(self, event)

    def of(self, task_type: str) -> list[PatternRow]:
        """Return the patterns of a task type that are in use, the most confident first, ties by birth and id."""
        # Confidence is an integer in millionths, so equal ones tie exactly and birth decides.
        rows = [row for row in self._patterns.in_use(self._by_type.get(task_type, [])) if not row.pruned]
        return sorted(rows, key=lambda row: (-row.confidence_micro, row.birth, row.memory_id))

    def pattern(self, memory_id: str) -> PatternRow | None:
        return self._patterns.get(memory_id)

    def patterns(self) -> list[PatternRow]:
        """Return every pattern in order of appearance, pruned ones included."""
        return [self._patterns[memory_id] for memory_id in self._patterns]

    def is_quarantined(self, memory_id: str) -> bool:
        return self._patterns.is_quarantined(memory_id)

    def digest(self) -> str:
        return self._patterns.digest()

    def dump(self) -> Any:
        return self._patterns.dump()

    def load(self, dumped: Any) -> None:
        self._patterns, self._by_type = Kept.of(dumped, PatternRow), {}
        for row in self.patterns():
            self._by_type.setdefault(row.task_type, []).append(row.memory_id)

    def _add(self, row: PatternRow) -> None:
        self._patterns.put(row.memory_id, row)
        self._by_type.setdefault(row.task_type, []).append(row.memory_id)

    def _change(self, memory_id: str, **changes: object) -> None:
        # Put again, so that it counts as changed: only such rows are hashed for the next digest.
        self._patterns.put(memory_id, msgspec.structs.replace(self._patterns[memory_id], **changes))
