"""What a sealed segment is: standard Parquet, sorted by (type, seq), that describes itself in a checksummed document.

Rules
    - Row groups end where a type ends, so a wanted type is found without touching the others.
    - The description (metadata key `mage_es`) names range, chain, types and row groups.
    - Page checksums are written. Polars and DuckDB do not check them, so readers of this package compare the SHA-256 of
      the whole file with the one that the log recorded when it sealed the segment.
"""

from __future__ import annotations

import hashlib

import msgspec

from mage_es.events.disk.documents import Chain

METADATA_KEY = b"mage_es"


class TypeRun(msgspec.Struct, frozen=True, kw_only=True):
    """Where a type's rows are: `rows` rows from `offset` on, counted from the start of row group `group`."""

    tag: str
    version: int
    fingerprint: str
    group: int
    offset: int
    rows: int


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What a segment says of itself; `previous` and `chain` are the chain values before and after it."""

    format: int
    log_id: str
    run: str
    first: int
    last: int
    previous: Chain
    chain: Chain
    runs: tuple[TypeRun, ...]
    vectors: int


class Files(msgspec.Struct, frozen=True):
    """The bytes of a segment and of its side file, which is empty where no event has a vector."""

    segment: bytes
    vectors: bytes

    @property
    def hashes(self) -> tuple[str, str]:
        """SHA-256 of both, as the log records them; `""` for an absent side file."""
        vectors = hashlib.sha256(self.vectors).hexdigest() if self.vectors else ""
        return hashlib.sha256(self.segment).hexdigest(), vectors
