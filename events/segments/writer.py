"""Writing sealed segments: commits in, the bytes of one or two Parquet files out, decoded again and compared."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import astuple

from mage_es.events.disk.documents import pack
from mage_es.events.errors import LogDamaged
from mage_es.events.facts import Draft, Event, event_ids, tag_of
from mage_es.events.facts.shapes import fingerprint, shapes_of
from mage_es.events.segments import columns
from mage_es.events.segments.reader import opened
from mage_es.events.segments.schema import (
    HEADER,
    METADATA_KEY,
    VECTORS,
    Description,
    Files,
    TypeRun,
    column_of,
    schema_of,
    struct_of,
)
from mage_es.events.wal.storable import subjects

# From this many rows a type gets its own row group: below that, its footer costs more than skipping it saves.
_OWN_GROUP = 1024

# How many events are converted to columns at a time: data in the processor's cache is converted ten times as fast.
_AT_ONCE = 2048

# Their values seldom repeat, so a dictionary would only make the file larger.
_UNLIKE = ("seq", "event_id", "ordinal", "causation_seq", "ts", "commit", "vector")


class Commit(NamedTuple):
    """One commit to seal: the number of its first event, its time, and what was appended."""

    first: int
    ts_us: int
    drafts: Sequence[Draft]


class _Part(NamedTuple):
    """Some rows of one type: header columns, payload, and its vectors with their sequence numbers and fields."""

    header: list[pa.Array]
    payload: pa.Array
    vectors: list[tuple[int, str, bytes]]


class _Type:
    def __init__(self, cls: type[Event]) -> None:
        self.cls = cls
        self.tag = tag_of(cls)
        self.column = column_of(self.tag, cls.version)
        self.parts: list[_Part] = []

    @property
    def rows(self) -> int:
        return sum(len(part.payload) for part in self.parts)


def write(commits: Iterable[Commit], *, run: str, log_id: str, previous: str, chain: str) -> Files:
    """Return the files of a segment. Raises `LogDamaged` if decoding does not give back what was encoded."""
    # Parts are collected by type, because rows are stored by (type, seq).
    types: dict[type[Event], _Type] = {}
    first = last = 0
    for some in _some(commits):
        first, last = first or some[0].first, some[-1].first + len(some[-1].drafts) - 1
        for cls, part in _parts(some, run):
            types.setdefault(cls, _Type(cls)).parts.append(part)
    groups = _grouped(types.values())
    # By seq: the side file keeps the order of the events, across all types.
    vectors = sorted(vector for kind in types.values() for part in kind.parts for vector in part.vectors)
    about = Description(
        format=1,
        log_id=log_id,
        run=run,
        first=first,
        last=last,
        previous=previous,
        chain=chain,
        runs=tuple(_runs(groups)),
        vectors=len(vectors),
    )
    schema = schema_of(kind.cls for group in groups for kind in group)
    segment = parquet(schema, [_table(group, schema) for group in groups], about)
    return Files(segment, parquet(VECTORS, [_vector_table(vectors)], about) if vectors else b"")


def _some(commits: Iterable[Commit]) -> Iterator[list[Commit]]:
    some: list[Commit] = []
    size = 0
    for commit in commits:
        some.append(commit)
        size += len(commit.drafts)
        if size >= _AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _grouped(types: Iterable[_Type]) -> list[list[_Type]]:
    groups: list[list[_Type]] = []
    size = 0
    for kind in sorted(types, key=attrgetter("tag")):
        # A large type gets a row group to itself, so that a reader skips the others; small neighbours share one.
        if not groups or kind.rows >= _OWN_GROUP or size >= _OWN_GROUP:
            groups.append([])
            size = 0
        groups[-1].append(kind)
        size += kind.rows
    return groups


def _runs(groups: list[list[_Type]]) -> Iterator[TypeRun]:
    for index, group in enumerate(groups):
        offset = 0
        for kind in group:
            mark, rows = fingerprint(kind.cls), kind.rows
            yield TypeRun(
                tag=kind.tag, version=kind.cls.version, fingerprint=mark, group=index, offset=offset, rows=rows
            )
            offset += rows


# ------------------------------------------------------------ columns


def _parts(commits: Sequence[Commit], run: str) -> Iterator[tuple[type[Event], _Part]]:
    # One pass per batch of commits, while its events are still in the processor's cache.
    rows = [(commit.first + place, commit, draft) for commit in commits for place, draft in enumerate(commit.drafts)]
    by_type: dict[type[Event], list[_Row]] = {}
    for row in rows:
        by_type.setdefault(row[2].event.__class__, []).append(row)
    for cls, members in by_type.items():
        seqs, origins, drafts = zip(*members, strict=True)
        events = [draft.event for draft in drafts]
        header = _header(seqs, origins, drafts, subjects(cls)(events), run)
        yield cls, _Part(header, _payload(cls, events), _vectors(cls, seqs, events))


_Row = tuple[int, Commit, Draft]


def _header(
    seqs: Sequence[int], commits: Sequence[Commit], drafts: Sequence[Draft], streams: Sequence[str], run: str
) -> list[pa.Array]:
    tag, version = tag_of(drafts[0].event), drafts[0].event.version
    iterations = [draft.iteration for draft in drafts]
    phases = [draft.phase for draft in drafts]
    ordinals = [draft.ordinal for draft in drafts]
    values: dict[str, Sequence[Any]] = {
        "seq": seqs,
        "event_id": event_ids(run, zip(iterations, phases, streams, repeat(tag), ordinals, strict=False)),
        "type": [tag] * len(seqs),
        "sv": [version] * len(seqs),
        "run": [run] * len(seqs),
        "iteration": iterations,
        "phase": phases,
        "ordinal": ordinals,
        "stream": streams,
        "causation_seq": [draft.causation for draft in drafts],
        "correlation": [draft.correlation for draft in drafts],
        "ts": [commit.ts_us for commit in commits],
        "commit": [commit.first for commit in commits],
    }
    return [pa.array(values[field.name], field.type) for field in HEADER]


def _table(group: list[_Type], schema: pa.Schema) -> pa.Table:
    rows = sum(kind.rows for kind in group)
    parts = [part for kind in group for part in kind.parts]
    arrays = [pa.chunked_array(chunks) for chunks in zip(*(part.header for part in parts), strict=True)]
    present = {}
    offset = 0
    for kind in group:
        struct = struct_of(kind.cls)
        payload = [part.payload for part in kind.parts]
        after = rows - offset - kind.rows
        # A row has a value in its own type's column and null in all others.
        present[kind.column] = [pa.nulls(offset, struct), *payload, pa.nulls(after, struct)]
        offset += kind.rows
    for field in list(schema)[len(HEADER) :]:
        arrays.append(pa.chunked_array(present.get(field.name, [pa.nulls(rows, field.type)]), field.type))
    return pa.Table.from_arrays(arrays, schema=schema).combine_chunks()


def _payload(cls: type[Event], events: Sequence[Event]) -> pa.Array:
    kind, shapes = struct_of(cls), shapes_of(cls)
    values = dict(zip(shapes, zip(*map(astuple, events), strict=True), strict=True))
    return pa.StructArray.from_arrays(
        [columns.to_arrow(values[field.name], shapes[field.name]) for field in kind], fields=list(kind)
    )


def _vectors(cls: type[Event], seqs: Sequence[int], events: Sequence[Event]) -> list[tuple[int, str, bytes]]:
    return [
        (seq, f"{column_of(tag_of(cls), cls.version)}.{name}", getattr(event, name))
        for name, shape in shapes_of(cls).items()
        if shape.kind == "vector"
        for seq, event in zip(seqs, events, strict=True)
    ]


def _vector_table(rows: list[tuple[int, str, bytes]]) -> pa.Table:
    seqs, fields, vectors = zip(*rows, strict=True)
    arrays = [pa.array(seqs, pa.uint64()), pa.array(fields), columns.vectors_to_arrow(vectors)]
    return pa.Table.from_arrays(arrays, schema=VECTORS)


# ------------------------------------------------------------ Parquet


def parquet(schema: pa.Schema, tables: Sequence[pa.Table], about: msgspec.Struct) -> bytes:
    """Return a file of these row groups that describes itself by `about`. Raises `LogDamaged` like `write`."""
    sink = pa.BufferOutputStream()
    # A dictionary for hashes or numbers that never repeat only makes the file larger and slower.
    repeating = [path for field in schema if field.name not in _UNLIKE for path in _leaves(field.name, field.type)]
    # Other engines skip row groups by the header columns; statistics of payloads would only swell the footer.
    statistics = [name for name in schema.names if name in HEADER.names]
    with pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        # As fast as 3 on the logs of runs, and texts take a quarter less space.
        compression_level=6,
        use_dictionary=repeating,
        write_statistics=statistics,
        write_page_checksum=True,
        # A copy of the Arrow schema would double the footer.
        store_schema=False,
    ) as writer:
        for table in tables:
            writer.write_table(table)
        writer.add_key_value_metadata({METADATA_KEY: pack(about)})
    data: bytes = sink.getvalue().to_pybytes()
    _require_readable(data, tables)
    return data


def _require_readable(data: bytes, tables: Sequence[pa.Table]) -> None:
    """Raise `LogDamaged` unless a file that was just encoded holds these row groups, bit for bit."""
    file = opened(data)
    for index, table in enumerate(tables):
        # The write-ahead file will be deleted: a flipped bit in memory or a bug in an encoder has to show now.
        stored = file.read_row_group(index, use_threads=False)
        for name in table.column_names:
            if not columns.same_bits(stored.column(name).combine_chunks(), table.column(name).combine_chunks()):
                raise LogDamaged(
                    f"the column {name} does not decode to what was encoded, so nothing is sealed. "
                    "Check the memory of this machine."
                )


def _leaves(path: str, kind: pa.DataType) -> Iterator[str]:
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    else:
        yield path
