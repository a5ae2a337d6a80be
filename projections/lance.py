"""The LanceDB sink: the memory as tables on disk, one for each outcome, to be searched without this package.

Rules
    - The tables are a copy of `Memory`, never a source: what does not open, or does not fit, is deleted and
      written again from the state.
    - A write is an upsert by memory id of the rows that are new or changed since the sink last wrote, so it can
      be repeated after a crash.
    - What is read back has the digest of the memory it came from, the vectors bit for bit.
    - There is no vector index: below some 100,000 rows exact search over one task type is as fast, and it finds
      the same neighbours everywhere. Task types, being few, have a bitmap index.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mage_es.events.errors import PrerequisiteError
from mage_es.events.vocabulary import Outcome
from mage_es.projections.memory import Memory, MemoryRow, digest_of_rows, row_hash

if TYPE_CHECKING:
    import pyarrow as pa

TABLES: dict[Outcome, str] = {
    "success_memory": "success_memories",
    "failure_memory": "failure_memories",
    "principle": "principles",
    "retrieval_recipe": "retrieval_recipes",
    "abstracted_pattern": "abstracted_patterns",
}
"""The table of each outcome."""

COMPACT_EVERY = 16
"""Upserts of a table after which its fragments are joined and its index brought up to date."""

_OTHER_READERS = timedelta(minutes=1)
"""How long a version that was compacted away stays readable for a process that has it open."""

_VECTOR = "embedding"
_INTEGERS = frozenset({"iteration", "ordinal", "met"})


class MemoryTables:
    """The tables in one folder, and which version of each row is in them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written: dict[str, bytes] = {}
        self._upserts: dict[str, int] = {}
        if path.exists():
            self._written = self._hashes_found()

    def write(self, memory: Memory) -> int:
        """Bring the tables up to the memory's state; return how many rows that took.

        Raises `PrerequisiteError` for an embedding that is not a vector of numbers, and where the disk refuses.
        """
        try:
            return self._write(memory)
        except (OSError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not str(error).startswith("lance error"):
                raise
            raise PrerequisiteError(
                f"The memory's tables cannot be written to {self._path}: {error}. They are a copy, and nothing "
                "recorded is lost: see to permissions and free space there, then run the same command again or resume."
            ) from error

    def _write(self, memory: Memory) -> int:
        hashes = memory.row_hashes()
        if not self._written.keys() <= hashes.keys():
            self._start_over()  # rows of another history: the tables belong to a state that never was
        schema = _schema(max((len(row.embedding) for row in memory.rows()), default=0) // 4)
        database = _connect(self._path)
        if any(database.open_table(name).schema != schema for name in _names(database)):
            self._start_over()
            database = _connect(self._path)
        due = [row for row in memory.rows() if self._written.get(row.memory_id) != hashes[row.memory_id]]
        for outcome, name in TABLES.items():
            rows = [row for row in due if row.outcome == outcome]
            if rows:
                self._upsert(database, name, _to_arrow(rows, schema))
        self._written.update((row.memory_id, hashes[row.memory_id]) for row in due)
        return len(due)

    def _upsert(self, database: Any, name: str, data: pa.Table) -> None:
        from lancedb.index import Bitmap

        if name in _names(database):
            table = database.open_table(name)
        else:
            table = database.create_table(name, schema=data.schema)
            table.create_index("task_type", config=Bitmap())
        upsert = table.merge_insert("memory_id").when_matched_update_all().when_not_matched_insert_all()
        upsert.execute(data, on_bad_vectors="null")
        self._upserts[name] = self._upserts.get(name, 0) + 1
        if self._upserts[name] % COMPACT_EVERY == 0:
            table.optimize(cleanup_older_than=_OTHER_READERS)

    def _hashes_found(self) -> dict[str, bytes]:
        try:
            return {row.memory_id: row_hash(row) for row in read_rows(self._path)}
        except Exception:  # a torn table may raise anything; the state has all that it held
            self._start_over()
            return {}

    def _start_over(self) -> None:
        shutil.rmtree(self._path)
        self._written.clear()


def read_rows(path: Path) -> list[MemoryRow]:
    """Return every row of every table in a folder, sorted by memory id."""
    database = _connect(path)
    rows: list[MemoryRow] = []
    for name in _names(database):
        rows.extend(_from_arrow(database.open_table(name).to_arrow()))
    return sorted(rows, key=lambda row: row.memory_id)


def read_digest(path: Path) -> str:
    """Return the digest of what the tables hold; equal to that of the memory which they were written from."""
    return digest_of_rows(read_rows(path))


def _connect(path: Path) -> Any:
    import lancedb

    path.mkdir(parents=True, exist_ok=True)
    return lancedb.connect(path)


def _names(database: Any) -> set[str]:
    names: list[str] = []
    page = database.list_tables()
    names += page.tables
    while page.page_token:
        page = database.list_tables(page_token=page.page_token)
        names += page.tables
    return set(names)


def _schema(dimension: int) -> pa.Schema:
    import pyarrow as pa

    step = pa.struct([("skill", pa.string()), ("output", pa.string())])
    special = {"steps": pa.list_(step), _VECTOR: pa.list_(pa.float32(), max(1, dimension))}
    return pa.schema(
        [
            (name, special.get(name) or (pa.int64() if name in _INTEGERS else pa.string()))
            for name in MemoryRow.__struct_fields__
        ]
    )


def _to_arrow(rows: Sequence[MemoryRow], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    columns = dict(zip(MemoryRow.__struct_fields__, zip(*map(msgspec.structs.astuple, rows), strict=True), strict=True))
    columns["steps"] = tuple([msgspec.structs.asdict(step) for step in steps] for steps in columns["steps"])
    arrays = [
        _vectors(rows, field.type) if field.name == _VECTOR else pa.array(columns[field.name], type=field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _vectors(rows: Sequence[MemoryRow], column: pa.FixedSizeListType) -> pa.FixedSizeListArray:
    """Return the embeddings as one column; a row without one is null in it."""
    import numpy as np
    import pyarrow as pa

    blank = bytes(4 * column.list_size)
    flat = np.frombuffer(b"".join(row.embedding or blank for row in rows), dtype="<f4")
    if np.isnan(flat).any():
        raise PrerequisiteError("An embedding holds a value that is not a number; use another embedder.")
    missing = pa.array([not row.embedding for row in rows])
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), type=column, mask=missing)


def _from_arrow(table: pa.Table) -> Iterator[MemoryRow]:
    fields = MemoryRow.__struct_fields__
    columns: dict[str, list[Any]] = {name: table.column(name).to_pylist() for name in fields if name != _VECTOR}
    columns[_VECTOR] = list(_vector_bytes(table.column(_VECTOR)))
    for values in zip(*(columns[name] for name in fields), strict=True):
        yield msgspec.convert(values, MemoryRow)


def _vector_bytes(column: pa.ChunkedArray) -> Iterator[bytes]:
    for chunk in column.chunks:
        width = 4 * chunk.type.list_size
        data = chunk.values.to_numpy(zero_copy_only=False).astype("<f4", copy=False).tobytes()
        first = chunk.offset * width
        for i, is_valid in enumerate(chunk.is_valid()):
            start = first + i * width
            yield data[start : start + width] if is_valid.as_py() else b""
