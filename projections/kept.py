"""Things kept by id for good, each in use or in quarantine, with a digest for which only what changed is hashed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

from mage_es.events.digests import digest, digest_of_set

T = TypeVar("T")


class Kept(Generic[T]):
    """Rows of one struct type. Quarantine is noted of ids that are here; other projections keep the other ids."""

    def __init__(self) -> None:
        self._rows: dict[str, T] = {}
        self._quarantined: set[str] = set()
        self._hashes: dict[str, bytes] = {}
        self._changed: set[str] = set()

    def put(self, key: str, row: T) -> None:
        """Keep a row under its id, in the place of the one that was there."""
        self._rows[key] = row
        self._changed.add(key)

    def quarantine(self, key: str) -> None:
        """Take a row out of use, if it is one of these."""
        if key in self._rows:
            self._quarantined.add(key)
            self._changed.add(key)

    def release(self, key: str) -> None:
        """Bring a row back into use, if it is one of these."""
        if key in self._rows:
            self._quarantined.discard(key)
            self._changed.add(key)

    def is_in_use(self, key: str) -> bool:
        """Return whether a row is here and not in quarantine."""
        return key in self._rows and key not in self._quarantined

    def in_use(self, keys: list[str]) -> Iterator[T]:
        """Yield those rows of these ids that are in use."""
        return (self._rows[key] for key in keys if key not in self._quarantined)

    def get(self, key: str) -> T | None:
        """Return a row by its id, in use or not, None if it is not kept here."""
        return self._rows.get(key)

    def __getitem__(self, key: str) -> T:
        """Return a row by its id, in use or not. Raises `KeyError`."""
        return self._rows[key]

    def __contains__(self, key: object) -> bool:
        """Return whether a row of this id is kept."""
        return key in self._rows

    def __iter__(self) -> Iterator[str]:
        """Yield every id in order of first appearance."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Return how many rows are kept, those in quarantine included."""
        return len(self._rows)

    def digest(self) -> str:
        """Return the digest of the set of rows with their ids and whether they are in use."""
        for key in self._changed:
            self._hashes[key] = bytes.fromhex(digest([key, self._rows[key], key in self._quarantined]))
        self._changed.clear()
        return digest_of_set(self._hashes.values())

    def dump(self) -> Any:
        """Return the rows by id, and the ids in quarantine."""
        return [self._rows, sorted(self._quarantined)]

    @classmethod
    def of(cls, dumped: Any, row_type: type[T]) -> Kept[T]:
        """Return what `dump` returned as it was."""
        kept, (rows, quarantined) = cls(), dumped
        for key, row in rows.items():
            kept.put(key, msgspec.convert(row, row_type))
        kept._quarantined = set(quarantined)
        return kept
