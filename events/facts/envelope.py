"""The envelope: what the log adds to an event, and the identities that make a retry a no-op.

An event's identity is a hash of (run, iteration, phase, subject, type, ordinal); without the run it is the
*fact id*, which is the same for every worker count, retry and replay. Sequence numbers and times are not:
answers are appended as they complete.
"""

import hashlib
from collections.abc import Iterable

import msgspec

from mage_es.events.facts.event import Event, Phase, tag_of

Coordinates = tuple[int, Phase, str, str, int]
"""What identifies a fact within a run: iteration, phase, subject, type, ordinal."""


class Draft(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """An event on its way into the log, before it has a place there. Its fields, in this order, are what is written.

    `ordinal` distinguishes facts of one type about one subject in one phase. `causation` is the sequence number
    of the event that led to this one (0: none); `correlation` is usually a question id.
    """

    event: Event
    iteration: int
    phase: Phase
    ordinal: int = 0
    causation: int = 0
    correlation: str = ""

    @property
    def fact_id(self) -> bytes:
        return fact_id(*self.coordinates)

    @property
    def coordinates(self) -> Coordinates:
        return self.iteration, self.phase, self.event.subject, tag_of(self.event), self.ordinal


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An event with its place in a log.

    `seq` counts from 1 without gaps and is the only order; `ts_us` is microseconds since 1970 (UTC), for information
    only; `commit` is the first `seq` of the atomic batch that the event was committed in.
    """

    seq: int
    event_id: bytes
    ts_us: int
    run: str
    iteration: int
    phase: Phase
    ordinal: int
    causation: int
    correlation: str
    commit: int
    event: Event

    @property
    def fact_id(self) -> bytes:
        return fact_id(self.iteration, self.phase, self.event.subject, tag_of(self.event), self.ordinal)


def fact_id(iteration: int, phase: str, subject: str, tag: str, ordinal: int) -> bytes:
    """Return the 16-byte identity of a fact: SHA-256 over its coordinates, truncated."""
    return hashlib.sha256(f"{iteration}\0{phase}\0{subject}\0{tag}\0{ordinal}".encode()).digest()[:16]


def event_id(run: str, fact: bytes) -> bytes:
    """Return the 16-byte identity of a fact in a run: the idempotency key of an append."""
    # Half a SHA-256 is enough to keep facts apart, and the column does not compress.
    return hashlib.sha256(run.encode() + b"\x00" + fact).digest()[:16]


def event_ids(run: str, facts: Iterable[Coordinates]) -> list[bytes]:
    # Local names: this loop runs once for every sealed event.
    sha256, prefix = hashlib.sha256, run.encode() + b"\x00"
    return [sha256(prefix + fact_id(*fact)).digest()[:16] for fact in facts]
