"""Small self-checking JSON documents: FORMAT and HEAD beside the log, and the description inside each segment."""

import hashlib
from typing import Annotated, NamedTuple, TypeVar

import google_crc32c
import msgspec

from mage_es.events.errors import LogDamaged

T = TypeVar("T", bound=msgspec.Struct)

UNREADABLE = (msgspec.MsgspecError, RecursionError)
"""What decoding raises for invalid bytes, and for values that are nested too deeply."""


Chain = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")]
"""A chain value in hexadecimal digits, or nothing."""


class Head(NamedTuple):
    """How far a log reaches: its last sequence number, and the chain value, 64 hexadecimal digits, vouching for it."""

    seq: int
    chain: str


class Taken(msgspec.Struct, frozen=True, array_like=True):
    """Events of one type; if a `field` is named, only those in which it has one of the values `among`."""

    tag: str
    field: str = ""
    among: tuple[str, ...] = ()


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What a log takes from another, kept in its folder past/ up to `head`: of the events up to `seq`, those in
    `takes`."""

    seq: int
    head: Head
    takes: tuple[Taken, ...]


class Format(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What FORMAT says: which log this is and how it is written. Written once; `created` is microseconds since 1970."""

    format: int
    log_id: str
    run: str
    hash: str
    created: int
    past: Past | None = None


class Holding(msgspec.Struct, frozen=True, array_like=True):
    """The iterations whose facts a segment holds; it reaches from event `first` to event `last`."""

    first: int
    last: int
    iterations: tuple[int, ...]


class HeadNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What HEAD says: a lower bound of what was durable; `chain` is the chain value of the frame that ends at `seq`.

    `holdings` saves a writer from reading segments that cannot hold what it is about to append; segments not listed are
    read.
    """

    seq: Annotated[int, msgspec.Meta(ge=0)]
    chain: Chain
    holdings: tuple[Holding, ...] = ()


def pack(document: msgspec.Struct) -> bytes:
    body = msgspec.json.encode(document)[:-1]
    return body + b',"crc32c":"%08x"}\n' % google_crc32c.value(body)


def unpack(data: bytes, kind: type[T], *, name: str) -> T:
    """Return the document that `pack` made. Raises `LogDamaged` if a single bit differs."""
    # Checked on the bytes, before JSON is parsed: a flip may leave valid JSON.
    body, _, check = data.rpartition(b',"crc32c":"')
    if check != b'%08x"}\n' % google_crc32c.value(body):
        raise LogDamaged(f"{name} is damaged: its checksum does not fit its {len(data)} bytes. {RESTORE}")
    try:
        return msgspec.json.decode(body + b"}", type=kind)
    # The checksum is right, so this is not damage: another release wrote it.
    except UNREADABLE as error:
        raise LogDamaged(f"{name} is intact but not in this release's form: {error}. Use a newer release.") from error


def genesis(format_file: bytes) -> bytes:
    """Return the chain value before the first event: a hash of FORMAT, so that no frame fits into another log."""
    return hashlib.sha256(format_file).digest()


# Every message about damage ends alike, because the same two commands always help.
RESTORE = (
    "Restore it from a copy of the run. `mage-es verify RUN` lists everything that is affected, "
    "`mage-es verify RUN --repair` shows what cutting it out would lose."
)
