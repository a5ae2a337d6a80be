"""Writing sealed segments: records in, the bytes of one or two Parquet files out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mage_es.events import columns
from mage_es.events.documents import pack
from mage_es.events.envelope import Record
from mage_es.events.schema import HEADER, VECTORS, column_of, schema_of, struct_of
from mage_es.events.segments import METADATA_KEY, Description, Files, TypeRun
from mage_es.events.shapes import fingerprint, shapes_of
from mage_es.events.vocabulary import Event, tag_of

_OWN_GROUP = 1024
"""Rows from which on a type has a row group to itself."""

_UNLIKE = ("seq", "event_id", "ordinal", "causation_seq", "ts", "commit", "vector")
"""Columns whose values seldom repeat: no dictionary."""


class _Group:
    """A row group in the making: consecutive types with their records."""

    def __init__(self) -> None:
        self.types: list[tuple[type[Event], list[Record]]] = []
        self.rows = 0

    def add(self, cls: type[Event], records: list[Record]) -> None:
        """Put a type's records behind those that are there."""
        self.types.append((cls, records))
        self.rows += len(records)


def write(records: Sequence[Record], *, log_id: str, previous: str, chain: str) -> Files:
    """Return the files of a segment that holds `records`, which follow one another without a gap."""
    groups = _grouped(records)
    runs = tuple(_runs(groups))
    vectors = _vector_rows(records)
    about = Description(
        format=1,
        log_id=log_id,
        run=records[0].run,
        first=records[0].seq,
        last=records[-1].seq,
        previous=previous,
        chain=chain,
        runs=runs,
        vectors=len(vectors[0]),
    )
    schema = schema_of(cls for group in groups for cls, _ in group.types)
    segment = _parquet(schema, (_table(group, schema) for group in groups), about)
    return Files(segment, _vector_file(*vectors, about) if vectors[0] else b"")


def _grouped(records: Sequence[Record]) -> list[_Group]:
    by_type: dict[str, list[Record]] = {}
    for record in records:
        by_type.setdefault(tag_of(record.event), []).append(record)
    groups: list[_Group] = []
    for tag in sorted(by_type):
        large = len(by_type[tag]) >= _OWN_GROUP
        if not groups or large or groups[-1].rows >= _OWN_GROUP:
            groups.append(_Group())
        groups[-1].add(type(by_type[tag][0].event), by_type[tag])
    return groups


def _runs(groups: list[_Group]) -> Iterator[TypeRun]:
    for index, group in enumerate(groups):
        offset = 0
        for cls, records in group.types:
            mark = fingerprint(cls)
            yield TypeRun(
                tag=tag_of(cls), version=cls.version, fingerprint=mark, group=index, offset=offset, rows=len(records)
            )
            offset += len(records)


def _table(group: _Group, schema: pa.Schema) -> pa.Table:
    arrays = _header([record for _, records in group.types for record in records])
    present = {}
    offset = 0
    for cls, records in group.types:
        parts = [pa.nulls(offset, struct_of(cls)), _payload(cls, records)]
        offset += len(records)
        present[column_of(tag_of(cls), cls.version)] = [*parts, pa.nulls(group.rows - offset, struct_of(cls))]
    for field in list(schema)[len(HEADER) :]:
        chunks = present.get(field.name, [pa.nulls(group.rows, field.type)])
        arrays.append(pa.chunked_array(chunks, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _header(records: list[Record]) -> list[Any]:
    values: dict[str, list[Any]] = {
        "seq": [r.seq for r in records],
        "event_id": [r.event_id for r in records],
        "type": [tag_of(r.event) for r in records],
        "sv": [r.event.version for r in records],
        "run": [r.run for r in records],
        "iteration": [r.iteration for r in records],
        "phase": [r.phase for r in records],
        "ordinal": [r.ordinal for r in records],
        "stream": [r.event.subject for r in records],
        "causation_seq": [r.causation for r in records],
        "correlation": [r.correlation for r in records],
        "ts": [r.ts_us for r in records],
        "commit": [r.commit for r in records],
    }
    return [pa.array(values[field.name], field.type) for field in HEADER]


def _payload(cls: type[Event], records: list[Record]) -> pa.Array:
    kind, shapes = struct_of(cls), shapes_of(cls)
    arrays = [columns.to_arrow([getattr(r.event, field.name) for r in records], shapes[field.name]) for field in kind]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def _vector_rows(records: Sequence[Record]) -> tuple[list[int], list[str], list[bytes]]:
    seqs, fields, vectors = [], [], []
    for record in records:
        for name, shape in shapes_of(type(record.event)).items():
            if shape.kind == "vector":
                seqs.append(record.seq)
                fields.append(f"{column_of(tag_of(record.event), record.event.version)}.{name}")
                vectors.append(getattr(record.event, name))
    return seqs, fields, vectors


def _vector_file(seqs: list[int], fields: list[str], vectors: list[bytes], about: Description) -> bytes:
    arrays = [pa.array(seqs, pa.uint64()), pa.array(fields), columns.vectors_to_arrow(vectors)]
    return _parquet(VECTORS, [pa.Table.from_arrays(arrays, schema=VECTORS)], about)


def _parquet(schema: pa.Schema, tables: Iterable[pa.Table], about: Description) -> bytes:
    sink = pa.BufferOutputStream()
    repeating = [path for field in schema if field.name not in _UNLIKE for path in _leaves(field.name, field.type)]
    statistics = [name for name in schema.names if name in HEADER.names]
    with pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=repeating,
        write_statistics=statistics,
        write_page_checksum=True,
        store_schema=False,
    ) as writer:
        for table in tables:
            writer.write_table(table)
        writer.add_key_value_metadata({METADATA_KEY: pack(about)})
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _leaves(path: str, kind: pa.DataType) -> Iterator[str]:
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    else:
        yield path
