"""The patterns abstracted from trajectories, with how often they held; the only nodes that pruning may take.

Rules
    - Confidence is what the events say: (successes + 1) / (successes + failures + 2), in millionths.
    - A pruned pattern is out of use for good. What is stored of it stays, and what is counted of it is still noted,
      so that nobody abstracts it anew without knowing.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from mage_es.events.vocabulary import (
    Event,
    MemoryQuarantined,
    MemoryReleased,
    PatternAbstracted,
    PatternPruned,
    PatternSupported,
    Phase,
)
from mage_es.projections.kept import Kept
from mage_es.projections.protocol import Reads
from mage_es.projections.slices import Birth, birth_of


class PatternRow(msgspec.Struct, frozen=True, array_like=True):
    """A pattern as it stands: the fields of `PatternAbstracted` in its order, counts and confidence as of now."""

    memory_id: str
    task_type: str
    skill: str
    text: str
    successes: int
    failures: int
    confidence_micro: int
    derived_from: str
    iteration: int
    phase: Phase
    ordinal: int
    pruned: bool = False

    @property
    def birth(self) -> Birth:
        """Return where in the run the pattern was abstracted: iteration, place of the phase, ordinal."""
        return birth_of(self.iteration, self.phase, self.ordinal)


class Patterns:
    """Every pattern by its id, and the ids of each task type."""

    name: ClassVar[str] = "patterns"
    reads: ClassVar[Reads] = {
        PatternAbstracted: PatternAbstracted.__struct_fields__,
        PatternSupported: ("memory_id", "successes", "failures", "confidence_micro"),
        PatternPruned: ("memory_id",),
        MemoryQuarantined: ("memory_id",),
        MemoryReleased: ("memory_id",),
    }
    order: ClassVar[Literal["global", "by_type"]] = "global"
    slot: ClassVar[Literal["mutable", "protected"]] = "protected"

    def __init__(self) -> None:
        self._patterns: Kept[PatternRow] = Kept()
        self._by_type: dict[str, list[str]] = {}

    def apply(self, event: Event) -> None:
        """Add a pattern, assign its counts, or take it out of use."""
        match event:
            case PatternSupported():
                self._change(
                    event.memory_id,
                    successes=event.successes,
                    failures=event.failures,
                    confidence_micro=event.confidence_micro,
                )
            case PatternAbstracted():
                if event.memory_id not in self._patterns:
                    self._add(PatternRow(*msgspec.structs.astuple(event)))
            case PatternPruned():
                self._change(event.memory_id, pruned=True)
            case MemoryQuarantined():
                self._patterns.quarantine(event.memory_id)
            case MemoryReleased():
                self._patterns.release(event.memory_id)
            case _:
                raise TypeError(f"the patterns do not read {type(event).__name__}; they read {list(self.reads)}")

    def of(self, task_type: str) -> list[PatternRow]:
        """Return the patterns of a task type that are in use, the most confident first, ties by birth and id."""
        rows = [row for row in self._patterns.in_use(self._by_type.get(task_type, [])) if not row.pruned]
        return sorted(rows, key=lambda row: (-row.confidence_micro, row.birth, row.memory_id))

    def pattern(self, memory_id: str) -> PatternRow | None:
        """Return a pattern by its id, in use or not, None if it was never abstracted."""
        return self._patterns.get(memory_id)

    def patterns(self) -> list[PatternRow]:
        """Return every pattern in order of appearance, pruned ones included."""
        return [self._patterns[memory_id] for memory_id in self._patterns]

    def is_quarantined(self, memory_id: str) -> bool:
        """Return whether a pattern is one of these and in quarantine."""
        return memory_id in self._patterns and not self._patterns.is_in_use(memory_id)

    def digest(self) -> str:
        """Return the digest of every pattern as it stands."""
        return self._patterns.digest()

    def dump(self) -> Any:
        """Return every pattern, and those in quarantine."""
        return self._patterns.dump()

    def load(self, dumped: Any) -> None:
        """Take over what `dump` returned."""
        self._patterns, self._by_type = Kept.of(dumped, PatternRow), {}
        for row in self.patterns():
            self._by_type.setdefault(row.task_type, []).append(row.memory_id)

    def _add(self, row: PatternRow) -> None:
        self._patterns.put(row.memory_id, row)
        self._by_type.setdefault(row.task_type, []).append(row.memory_id)

    def _change(self, memory_id: str, **changes: object) -> None:
        self._patterns.put(memory_id, msgspec.structs.replace(self._patterns[memory_id], **changes))
