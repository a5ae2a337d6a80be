"""Memories on probation: those that a merge took from other runs, until the coin has shown that they do no harm.

Rules
    - A run's memories are on probation until `probation.count_tosses` ends it; nothing is counted here.
    - Memories from two runs are on probation for both.
"""

from itertools import chain
from typing import Any, ClassVar

import msgspec

from mage_es.events.digests import digest
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Event, ProbationCounted, RunMerged
from mage_es.projections.protocol import Order, unread


class Brought(msgspec.Struct, frozen=True, array_like=True):
    """The ids of the memories that a run brought, and the last count of the tosses for them; None before the first."""

    memory_ids: tuple[str, ...]
    counted: ProbationCounted | None = None

    @property
    def is_over(self) -> bool:
        return self.counted is not None and self.counted.is_over


class Probation:
    name: ClassVar[str] = "probation"
    reads: ClassVar[Reads] = {RunMerged: ("parent", "memory_ids"), ProbationCounted: ProbationCounted.__struct_fields__}
    dumped: ClassVar[Any] = dict[str, Brought]
    order: ClassVar[Order] = "global"

    def __init__(self) -> None:
        self._brought: dict[str, Brought] = {}
        self._ids: frozenset[str] = frozenset()

    def apply(self, event: Event) -> None:
        match event:
            case RunMerged():
                self._brought[event.parent] = Brought(event.memory_ids)
            case ProbationCounted():
                self._brought[event.parent] = Brought(self._brought[event.parent].memory_ids, event)
            case _:
                raise unread(self, event)
        self._look_up()

    def __contains__(self, memory_id: object) -> bool:
        return memory_id in self._ids

    def brought(self) -> dict[str, Brought]:
        """Return what is on probation, by the run that brought it, sorted."""
        return {name: each for name, each in sorted(self._brought.items()) if not each.is_over}

    def digest(self) -> str:
        return digest(sorted(self._brought.items()))

    def dump(self) -> Any:
        return self._brought

    def load(self, dumped: Any) -> None:
        self._brought = msgspec.convert(dumped, dict[str, Brought])
        self._look_up()

    def _look_up(self) -> None:
        # Looked up for every memory of a prompt.
        self._ids = frozenset(chain.from_iterable(each.memory_ids for each in self.brought().values()))
