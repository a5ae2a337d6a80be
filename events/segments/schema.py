"""What a sealed segment is: standard Parquet, sorted by (type, seq), that describes itself in a checksummed document.

Rules
    - Columns are those of the header, then one nullable struct column for each event type present.
    - Row groups end where a type ends, so a type can be read without touching the others.
    - The description (metadata key `mage_es`) names range, chain, types and row groups.
    - Page checksums are written. Polars and DuckDB do not check them, so readers of this package compare the SHA-256 of
      the whole file with the one that the log recorded when it sealed the segment.
"""

import hashlib
from collections.abc import Iterable

import msgspec
import pyarrow as pa

from mage_es.events.disk.documents import Chain
from mage_es.events.facts import Event, tag_of
from mage_es.events.facts.shapes import shapes_of
from mage_es.events.segments.columns import VECTOR, arrow_type

HEADER = pa.schema(
    [
        pa.field("seq", pa.uint64(), nullable=False),
        pa.field("event_id", pa.binary(16), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("sv", pa.uint16(), nullable=False),
        pa.field("run", pa.string(), nullable=False),
        pa.field("iteration", pa.int32(), nullable=False),
        pa.field("phase", pa.string(), nullable=False),
        pa.field("ordinal", pa.int64(), nullable=False),
        pa.field("stream", pa.string(), nullable=False),
        pa.field("causation_seq", pa.uint64(), nullable=False),
        pa.field("correlation", pa.string(), nullable=False),
        pa.field("ts", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("commit", pa.uint64(), nullable=False),
    ]
)
"""`stream` is the event's subject; `commit` the first `seq` of its atomic batch; the others are as in `Record`."""

# Vectors have a separate file, one row each: they do not compress and are rarely wanted.
VECTORS = pa.schema(
    [
        pa.field("seq", pa.uint64(), nullable=False),
        pa.field("field", pa.string(), nullable=False),
        pa.field("vector", VECTOR, nullable=False),
    ]
)


def column_of(tag: str, version: int) -> str:
    return tag.replace(".", "_") + (f"_v{version}" if version > 1 else "")


def struct_of(cls: type[Event]) -> pa.DataType:
    """Return the struct type of an event's payload without vectors. Raises `TypeError` if it has nothing else."""
    fields = [pa.field(name, arrow_type(shape)) for name, shape in shapes_of(cls).items() if shape.kind != "vector"]
    if not fields:
        raise TypeError(f"{cls.__name__} has no field but vectors, which Parquet cannot store; give it one.")
    return pa.struct(fields)


def schema_of(types: Iterable[type[Event]]) -> pa.Schema:
    payloads = [pa.field(column_of(tag_of(cls), cls.version), struct_of(cls)) for cls in types]
    return pa.schema([*HEADER, *payloads])


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
    """What a segment says about itself; `previous` and `chain` are the chain values before and after it."""

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
    """The bytes of a segment and of its side file, which is empty if no event has a vector."""

    segment: bytes
    vectors: bytes

    @property
    def hashes(self) -> tuple[str, str]:
        """SHA-256 of both, as the log records them; `""` for an absent side file."""
        vectors = hashlib.sha256(self.vectors).hexdigest() if self.vectors else ""
        return hashlib.sha256(self.segment).hexdigest(), vectors
