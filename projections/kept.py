"""Items kept permanently by id, each in use or in quarantine, with a digest that rehashes only changed items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

from mage_es.events.digests import digest, digest_of_set
from mage_es.events.facts.private import is_erased, texts_in
from mage_es.events.vocabulary import MemoryQuarantined, MemoryReleased

T = TypeVar("T", bound=msgspec.Struct)


class Kept(Generic[T]):
    """Rows of one struct type. Quarantine is noted for ids held here; other projections hold the other ids."""

    def __init__(self) -> None:
        self._rows: dict[str, T] = {}
        self._quarantined: set[str] = set()
        # A digest is wanted at every closed iteration, when few rows have changed: the other hashes are kept.
        self._hashes: dict[str, bytes] = {}
        self._changed: set[str] = set()

    def put(self, key: str, row: T) -> None:
        self._rows[key] = row  # at its first place, because `__iter__` gives the order of first appearance
        self._changed.add(key)

    def curate(self, event: MemoryQuarantined | MemoryReleased) -> None:
        # One event type serves tools, recipes, patterns and memories; so another projection's id is not an error.
        if (key := event.memory_id) in self._rows:
            note = self._quarantined.add if isinstance(event, MemoryQuarantined) else self._quarantined.discard
            note(key)
            self._changed.add(key)

    def is_quarantined(self, key: str) -> bool:
        return key in self._quarantined

    def in_use(self, keys: list[str]) -> Iterator[T]:
        rows = (self._rows[key] for key in keys if key not in self._quarantined)
        return (row for row in rows if not any(map(is_erased, texts_in(row))))

    def get(self, key: str) -> T | None:
        return self._rows.get(key)

    def __getitem__(self, key: str) -> T:
        return self._rows[key]

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def digest(self) -> str:
        for key in self._changed:
            self._hashes[key] = bytes.fromhex(digest([key, self._rows[key], key in self._quarantined]))
        self._changed.clear()
        return digest_of_set(self._hashes.values())

    def dump(self) -> Any:
        return [self._rows, sorted(self._quarantined)]

    @classmethod
    def of(cls, dumped: Any, row_type: type[T]) -> Kept[T]:
        kept, (rows, quarantined) = cls(), dumped
        for key, row in rows.items():
            kept.put(key, msgspec.convert(row, row_type))  # so that every row counts as changed and is hashed once
        kept._quarantined = set(quarantined)
        return kept
