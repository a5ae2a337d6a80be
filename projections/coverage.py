"""Which task types were observed and when each was last selected: the memory of the round-robin (Eq. 1)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from mage_es.events.digests import digest
from mage_es.events.vocabulary import Event, TargetsSelected
from mage_es.projections.protocol import Reads


class Covered(NamedTuple):
    """The iteration in which a task type was first seen, and the one in which it was last selected."""

    first_seen: int
    last_selected: int


class Coverage:
    """Every observed task type. One never selected counts as selected just before it was first seen."""

    name: ClassVar[str] = "coverage"
    reads: ClassVar[Reads] = {TargetsSelected: ("iteration", "targets", "newly_observed")}
    order: ClassVar[Literal["global", "by_type"]] = "by_type"
    slot: ClassVar[Literal["mutable", "protected"]] = "protected"

    def __init__(self) -> None:
        self._types: dict[str, Covered] = {}

    def apply(self, event: Event) -> None:
        """Add the newly observed types, then note the selected ones."""
        match event:
            case TargetsSelected():
                for task_type in event.newly_observed:
                    self._types[task_type] = Covered(event.iteration, event.iteration - 1)
                for target in event.targets:
                    seen = self._types[target.task_type]
                    self._types[target.task_type] = Covered(seen.first_seen, event.iteration)
            case _:
                raise TypeError(f"the coverage does not read {type(event).__name__}; it reads {list(self.reads)}")

    def observed(self) -> list[str]:
        """Return every observed task type in lexicographic order."""
        return sorted(self._types)

    def first_seen(self, task_type: str) -> int:
        """Return the iteration in which an observed type was first seen. Raises `KeyError`."""
        return self._types[task_type].first_seen

    def last_selected(self, task_type: str) -> int:
        """Return the iteration in which an observed type was last selected. Raises `KeyError`."""
        return self._types[task_type].last_selected

    def digest(self) -> str:
        """Return the digest of all observed types."""
        return digest(self._types)

    def dump(self) -> Any:
        """Return all observed types."""
        return self._types

    def load(self, dumped: Any) -> None:
        """Take over what `dump` returned."""
        self._types = msgspec.convert(dumped, dict[str, Covered])
