"""Reading sealed segments: whole records, or events with only the wanted fields."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mage_es.events.disk.documents import RESTORE, unpack
from mage_es.events.disk.layout import Range
from mage_es.events.errors import LogDamaged, UnknownEvent
from mage_es.events.facts import Coordinates, Event, Record, SegmentSealed, Vocabulary, tag_of
from mage_es.events.facts.shapes import Shape, fingerprint, shapes_of
from mage_es.events.segments import columns
from mage_es.events.segments.batches import Batch, Columns, Reads
from mage_es.events.segments.schema import HEADER, METADATA_KEY, Description, TypeRun, column_of

# The event itself has these, so they are not read back.
_DERIVED = ("type", "sv", "stream")

# Columns read from a file of up to this many bytes are kept: a check of a small run reads each of them several times.
_SMALL = 1 << 20


class Decoded:
    """What was read of a small file so far."""

    def __init__(self) -> None:
        self.footer: pq.FileMetaData | None = None
        self.tables: dict[tuple[int, ...], pa.Table] = {}


@lru_cache(maxsize=4)  # a verb opens the log of a run several times
def decoded_of(sha256: str, vocabulary: Vocabulary) -> Decoded:
    """Return what this process has read of a small file with this hash; the caller has compared the hash."""
    return Decoded()


class _Rows(NamedTuple):
    """A type's rows within a window of sequence numbers: where in the row group, and how many."""

    start: int
    length: int


class Segment:
    """One sealed segment in memory. `vectors` gives the bytes of the side file, and is called only when they are
    wanted, `decoded` what was read of the same bytes before."""

    # `footer` is that of the same bytes if known: parsing it is a third of the cost of a narrow reading.
    def __init__(
        self,
        data: bytes,
        vectors: Callable[[], bytes],
        *,
        name: str,
        vocabulary: Vocabulary,
        footer: pq.FileMetaData | None = None,
        decoded: Decoded | None = None,
    ) -> None:
        decoded = decoded or Decoded()
        self._vectors = vectors
        self._name = name
        self._vocabulary = vocabulary
        with self._damage():
            # Opened twice: which columns are texts is known only from the description in the footer.
            plain = opened(data, metadata=footer or decoded.footer)
            self.footer = plain.metadata
            self.about = unpack((self.footer.metadata or {}).get(METADATA_KEY, b""), Description, name=name)
            types = tuple((run.tag, run.version, run.fingerprint) for run in self.about.runs)
            self._leaves, texts = _layout(tuple(map(tuple, plain.column_paths)), types, vocabulary)
            self._file = opened(data, metadata=self.footer, read_dictionary=texts)
        self._is_small = len(data) <= _SMALL
        if self._is_small:
            decoded.footer = self.footer
        self._tables = decoded.tables

    def batches(self, reads: Reads, window: Range, headers: Sequence[str] = ()) -> dict[type[Event], Batch]:
        """Return the wanted events by type, with their stored values; with `headers` the events of every type,
        with these columns of the header.

        Raises `UnknownEvent` for a wanted type that this release cannot read, and `LogDamaged`.
        """
        wanted = {tag_of(cls) for cls in reads}
        found = {}
        with self._damage():
            for run in self.about.runs:
                if (headers or run.tag in wanted) and (rows := self._rows(run, window)).length:
                    cls = self._vocabulary.require(run.tag, run.version)
                    found[cls] = self._batch(run, rows, reads.get(cls, ()), headers)
        return found

    def events(self, reads: Reads, window: Range) -> list[tuple[int, Event]]:
        pairs: list[tuple[int, Event]] = []
        with self._damage():
            for batch in self.batches(reads, window).values():
                pairs.extend(zip(batch.seqs, batch.events, strict=True))
        # Rows are sorted by (type, seq); readers want them by seq.
        pairs.sort(key=itemgetter(0))
        return pairs

    def records(self, window: Range, tags: Collection[str] | None = None) -> list[Record]:
        """Return the records of all types, or of some, in order. Raises `UnknownEvent` and `LogDamaged`."""
        found: list[Record] = []
        with self._damage():
            for run in self.about.runs:
                if (tags is None or run.tag in tags) and (rows := self._rows(run, window)).length:
                    cls = self._vocabulary.require(run.tag, run.version)
                    found.extend(self._records(run, rows, self._batch(run, rows, tuple(shapes_of(cls))).events))
        found.sort(key=lambda record: record.seq)
        return found

    def iterations(self) -> set[int]:
        with self._damage():
            return set(_plain(self._facts(["iteration"]).column("iteration")))

    def coordinates(self, iteration: int) -> Iterator[tuple[Coordinates, int]]:
        names = ["iteration", "phase", "stream", "type", "ordinal", "seq"]
        with self._damage():
            table = self._facts(names)
            table = table.filter(pc.equal(table.column("iteration"), iteration))
            *coordinates, seqs = (_plain(table.column(name)) for name in names)
        yield from zip(zip(*coordinates, strict=True), seqs, strict=True)

    def _facts(self, names: list[str]) -> pa.Table:
        leaves = [leaf for name in {*names, "type"} for leaf in self._leaves[name]]
        table = self._file.read_all(column_indices=leaves, use_threads=False)
        return table.filter(pc.not_equal(table.column("type"), tag_of(SegmentSealed)))

    def _rows(self, run: TypeRun, window: Range) -> _Rows:
        # The whole segment is wanted, as in every fold from the start: no need to read seq.
        if window.first <= self.about.first and self.about.last <= window.last:
            return _Rows(run.offset, run.rows)
        seqs = self._cut(self._read(run, ["seq"]), "seq", _Rows(run.offset, run.rows)).to_pylist()
        start, stop = bisect_left(seqs, window.first), bisect_right(seqs, window.last)
        return _Rows(run.offset + start, max(stop - start, 0))

    def _read(self, run: TypeRun, names: list[str]) -> pa.Table:
        leaves = [leaf for name in names for leaf in self._leaves[name]]
        if (table := self._tables.get((run.group, *leaves))) is None:
            table = self._file.read_row_group(run.group, column_indices=leaves, use_threads=False)
            if self._is_small:
                self._tables[run.group, *leaves] = table
        return table

    def _cut(self, table: pa.Table, column: str, rows: _Rows) -> pa.Array:
        array = table.column(column).slice(rows.start, rows.length).combine_chunks()
        # `verify` also reads segments whose recorded hash is lost, so a sound description may not fit the rows.
        if len(array) != rows.length:
            raise LogDamaged(f"{self._name} has {len(table)} rows but claims {rows.start + rows.length}. {RESTORE}")
        return array

    def _batch(self, run: TypeRun, rows: _Rows, wanted: tuple[str, ...], headers: Sequence[str] = ()) -> Batch:
        cls = self._vocabulary.require(run.tag, run.version)
        shapes, present = shapes_of(cls), self._stored(run, cls) if run.version == cls.version else ()
        plain = [name for name in wanted if name in present and shapes[name].kind != "vector"]
        column = column_of(run.tag, run.version)
        table = self._read(run, ["seq", *headers, *(f"{column}.{name}" for name in plain)])
        seqs = columns.Column(self._cut(table, "seq", rows), Shape("int"))
        header = {name: _numbers(self._cut(table, name, rows)) for name in headers}
        # Upcasting works on whole payloads, so all columns of the type are read.
        if run.version < cls.version:
            return Batch.of(cls, seqs.values(), self._upcast(run, rows, seqs.values()), wanted, header)
        stored: dict[str, columns.Column] = {}
        if plain:
            struct = self._cut(table, column, rows)
            for field, array in zip(struct.type, struct.flatten(), strict=True):
                stored[field.name] = columns.Column(array, shapes[field.name])
        values: dict[str, list[Any]] = {}
        for name in wanted:
            if name not in present:
                values[name] = [columns.default_of(cls, name)] * rows.length
            elif name not in stored:
                values[name] = self._vectors_of(run, seqs.values(), name)
        return Batch(cls, seqs, Columns(cls, wanted, values, stored), headers=header)

    def _stored(self, run: TypeRun, cls: type[Event]) -> Collection[str]:
        """Return the fields of a type that this segment has. Other fields must have defaults, and the kinds of fields
        must agree."""
        shapes = shapes_of(cls)
        # The same fields as today, the usual case: nothing to compare.
        if run.fingerprint == fingerprint(cls):
            return shapes
        kind = self._file.schema_arrow.field(column_of(run.tag, run.version)).type
        stored = {name for name, shape in shapes.items() if shape.kind == "vector" or kind.get_field_index(name) >= 0}
        # A field may have been added since, with a default; anything else would have needed a new version.
        required = {field.name for field in msgspec.structs.fields(cls) if field.required}
        retyped = [
            n
            for n in stored
            if shapes[n].kind != "vector" and not kind.field(n).type.equals(columns.arrow_type(shapes[n]))
        ]
        if required - stored or retyped:
            raise UnknownEvent(
                f"{self._name}: {run.tag} was stored with other fields under the same version {run.version} "
                f"({', '.join(sorted(required - stored) + retyped)}). The class needs a new version and an upcaster."
            )
        return stored

    def _upcast(self, run: TypeRun, rows: _Rows, seqs: list[int]) -> list[Event]:
        column = column_of(run.tag, run.version)
        payloads = self._cut(self._read(run, [column]), column, rows).to_pylist()
        for name in self._vector_fields(column):
            for payload, vector in zip(payloads, self._vectors_of(run, seqs, name), strict=True):
                payload[name] = vector
        return [self._vocabulary.upcast(run.tag, run.version, payload) for payload in payloads]

    def _vector_table(self) -> pa.Table:
        with self._damage():
            return opened(self._vectors()).read_all(use_threads=False)

    def _vector_fields(self, column: str) -> list[str]:
        names = pc.unique(self._vector_table().column("field")).to_pylist() if self.about.vectors else []
        return [name.removeprefix(f"{column}.") for name in names if name.startswith(f"{column}.")]

    def _vectors_of(self, run: TypeRun, seqs: list[int], name: str) -> list[bytes]:
        table = self._vector_table()
        is_wanted = pc.equal(table.column("field"), f"{column_of(run.tag, run.version)}.{name}")
        # Usually only one field has vectors; filtering would copy them all.
        if not pc.all(is_wanted).as_py():
            table = table.filter(is_wanted)
        vectors = columns.vectors_to_python(table.column("vector").combine_chunks())
        # By seq: the side file holds the rows of all types together.
        found = dict(zip(_plain(table.column("seq")), vectors, strict=True))
        return [found[seq] for seq in seqs]

    def _records(self, run: TypeRun, rows: _Rows, events: list[Event]) -> Iterator[Record]:
        table = self._read(run, HEADER.names).slice(rows.start, rows.length)
        table = table.set_column(table.schema.get_field_index("ts"), "ts", table.column("ts").cast(pa.int64()))
        headers = (_plain(table.column(name)) for name in HEADER.names if name not in _DERIVED)
        yield from map(_make_record, *headers, events)

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
            raise LogDamaged(f"{self._name} cannot be read: {str(error).rstrip('.')}. {RESTORE}") from error


@lru_cache(maxsize=8)  # nearly all segments of a log have the same
def _layout(
    paths: tuple[tuple[str, ...], ...], types: tuple[tuple[str, int, str], ...], vocabulary: Vocabulary
) -> tuple[Mapping[str, list[int]], list[int]]:
    """Return, by name, the leaves of each column and of each of its fields, and the leaves that are texts."""
    leaves: dict[str, list[int]] = {}
    for place, path in enumerate(paths):
        for name in {path[0], ".".join(path[:2])}:  # a column as a whole, and each of its fields
            leaves.setdefault(name, []).append(place)
    # Texts that are written and read with a dictionary cost a fraction.
    texts = []
    for tag, version, stored in types:
        cls = vocabulary.types.get(tag)
        if cls is not None and stored == fingerprint(cls):
            column = column_of(tag, version)
            names = (f"{column}.{name}" for name, shape in shapes_of(cls).items() if shape.kind == "str")
            texts += [leaf for name in names for leaf in leaves[name]]
    return leaves, texts


def opened(data: bytes, **options: Any) -> pq.ParquetReader:
    # The reader inside `ParquetFile`, without what the latter prepares for every column.
    reader = pq.ParquetReader()
    reader.open(pa.BufferReader(data), page_checksum_verification=True, **options)
    return reader


def _numbers(array: pa.Array) -> Any:
    if pa.types.is_fixed_size_binary(array.type):
        width = array.type.byte_width
        data = np.frombuffer(array.buffers()[1], np.uint8)[width * array.offset :]
        return data[: width * len(array)].reshape(-1, width)
    return array.to_numpy()


def _plain(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_numpy().tolist()
    return values


_make_record: Callable[..., Record] = columns.maker(
    Record,
    ("seq", "event_id", "run", "iteration", "phase", "ordinal", "causation", "correlation", "ts_us", "commit", "event"),
    (),
)
