"""The memory as LanceDB tables on disk, one for each outcome, to be searched without this package.

Rules
    - The tables are an export of `Memory`, never a source: no part of a run reads them.
    - A memory read back from the tables has the digest of the original, and its vectors are equal bit for bit.
    - Memories of subjects, which are ciphertext in the log, are not exported: `open_to_all` selects the others.
    - There is no vector index. Its training is random, so two exports could find different neighbours. Exact search
      within one task type, through a bitmap index, always finds the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mage_es.events.errors import PrerequisiteError
from mage_es.events.facts.private import is_sealed
from mage_es.events.vocabulary import Outcome
from mage_es.projections.memory import Memory, MemoryRow, digest_of_rows

if TYPE_CHECKING:
    import pyarrow as pa

TABLES: dict[Outcome, str] = {
    "success_memory": "success_memories",
    "failure_memory": "failure_memories",
    "principle": "principles",
    "retrieval_recipe": "retrieval_recipes",
    "abstracted_pattern": "abstracted_patterns",
}

_VECTOR = "embedding"
_INTEGERS = frozenset({"iteration", "ordinal", "met"})


def write_tables(path: Path, memory: Memory) -> None:
    """Write the memory into a new or empty folder, one table for each outcome that occurs.

    Raises `PrerequisiteError` without LanceDB, for an embedding that is not a vector of numbers, or if the disk
    refuses.
    """
    require_lance()
    try:
        _write(path, memory)
    except (OSError, RuntimeError) as error:
        # LanceDB reports a full or read-only disk as a bare RuntimeError; any other is a defect and must show.
        if isinstance(error, RuntimeError) and not str(error).startswith("lance error"):
            raise
        raise PrerequisiteError(
            f"The memory's tables cannot be written to {path}: {error}. Check its permissions and the free space, "
            "then run the same command again; the log is not touched."
        ) from error


def require_lance(what: str = "A memory as LanceDB tables") -> None:
    """Raise `PrerequisiteError` if LanceDB, which `what` needs, is not installed."""
    try:
        import lancedb  # noqa: F401
    except ImportError as error:
        raise PrerequisiteError(f"{what} needs the package lancedb: python -m pip install 'mage-es[lance]'") from error


def _write(path: Path, memory: Memory) -> None:
    from lancedb.index import Bitmap

    database = _connect(path)
    # A run that has only principles has no vectors, but their column must have a width.
    schema = _schema(max((len(row.embedding) for row in open_to_all(memory)), default=0) // 4)
    for outcome, name in TABLES.items():
        if rows := [row for row in open_to_all(memory) if row.outcome == outcome]:
            table = database.create_table(name, _to_arrow(rows, schema), on_bad_vectors="null")
            table.create_index("task_type", config=Bitmap())


def open_to_all(memory: Memory) -> list[MemoryRow]:
    return [row for row in memory.rows() if not (is_sealed(row.question) or is_sealed(row.reasoning))]


def read_rows(path: Path) -> list[MemoryRow]:
    """Return every row of every table in a folder, sorted by memory id."""
    database = _connect(path)
    rows: list[MemoryRow] = []
    for name in database.list_tables(limit=len(TABLES)).tables:
        rows.extend(_from_arrow(database.open_table(name).to_arrow()))
    # The tables are listed by name, which says nothing about the memories.
    return sorted(rows, key=lambda row: row.memory_id)


def read_digest(path: Path) -> str:
    """Return the digest of what the tables hold; equal to that of the memory that they were written from."""
    return digest_of_rows(read_rows(path))


def _connect(path: Path) -> Any:
    import lancedb

    path.mkdir(parents=True, exist_ok=True)
    return lancedb.connect(path)


def _schema(dimension: int) -> pa.Schema:
    import pyarrow as pa

    # Spelt out, so that every table has the same columns: one query can go over several tables.
    step = pa.struct([("skill", pa.string()), ("output", pa.string())])
    origin = pa.struct([("facts", pa.list_(pa.string())), *((name, pa.string()) for name in ("writer", "saw", "by"))])
    special = {"steps": pa.list_(step), "origin": origin, _VECTOR: pa.list_(pa.float32(), max(1, dimension))}
    return pa.schema(
        [
            (name, special.get(name) or (pa.int64() if name in _INTEGERS else pa.string()))
            for name in MemoryRow.__struct_fields__
        ]
    )


def _to_arrow(rows: Sequence[MemoryRow], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    columns = dict(zip(MemoryRow.__struct_fields__, zip(*map(msgspec.structs.astuple, rows), strict=True), strict=True))
    columns["origin"] = tuple(map(msgspec.structs.asdict, columns["origin"]))
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

    # A fixed-size list needs bytes even for a row without a vector; the mask makes them null.
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
    # A chunk is one block of numbers: converting its vectors to Python lists would take most of the time.
    for chunk in column.chunks:
        width = 4 * chunk.type.list_size
        data = chunk.values.to_numpy(zero_copy_only=False).astype("<f4", copy=False).tobytes()
        first = chunk.offset * width
        for i, is_valid in enumerate(chunk.is_valid()):
            start = first + i * width
            yield data[start : start + width] if is_valid.as_py() else b""
