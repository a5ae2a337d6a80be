"""The log's own records."""

from typing import ClassVar

from mage_es.events.facts.event import Event


class SegmentSealed(Event, frozen=True, kw_only=True, tag="log.segment_sealed"):
    """A write-ahead file became a Parquet segment."""

    first: int
    """Its first seq."""
    last: int
    """Its last seq."""
    rows: int
    """Number of events."""
    # In the log itself: so the newest head vouches for every file before it.
    sha256: str
    """SHA-256 of the segment's bytes."""
    vectors_sha256: str
    """SHA-256 of the bytes of the segment's vectors; empty if it has none."""
    chain: str
    """Chain value of its last frame, 64 hexadecimal digits."""


class SignerNamed(Event, frozen=True, kw_only=True, tag="signer.named"):
    """Heads of this log are signed with a key from here on (signing/heads.py)."""

    # In the log, so that every head that it signs covers its name, and a missing head is noticed.
    stream: ClassVar[str] = "signer/{0.verifier}"
    verifier: str
    """Its verifier key, as C2SP signed notes write it."""


class LogRepaired(Event, frozen=True, kw_only=True, tag="log.repaired"):
    """The log was cut to its last whole prefix."""

    # Recorded in the cut log, so that no repair can pass for an undamaged history.
    cut_first: int
    """First seq that was cut out or lost; 0 if none was."""
    cut_last: int
    """Last seq that was cut out or lost; 0 if unknown."""
    reason: str
    """What was wrong with the log."""
    quarantined: tuple[str, ...]
    """Files in quarantine/ that hold what was cut out."""
