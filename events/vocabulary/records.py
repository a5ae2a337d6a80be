"""The log's own records."""

from __future__ import annotations

from mage_es.events.vocabulary.form import Event


class SegmentSealed(Event, frozen=True, kw_only=True, tag="log.segment_sealed"):
    """A write-ahead file became a Parquet segment; hashes are of the files' bytes, `chain` of its last frame."""

    first: int
    last: int
    rows: int
    sha256: str
    vectors_sha256: str
    chain: str


class LogRepaired(Event, frozen=True, kw_only=True, tag="log.repaired"):
    """The log was cut to its last whole prefix: what stood from `cut_first` on is in quarantine, or was lost."""

    cut_first: int
    cut_last: int
    reason: str
    quarantined: tuple[str, ...]
