"""Export: a log as files that other programs can read without this package, one for each event type, with an
explanation of the columns.

    parquet    <type>.parquet     header columns, then the event's fields, typed; vectors are lists of float32
    csv        <type>.csv         the same columns; lists and parts as JSON text, bytes and vectors as base64; an
                                  apostrophe before a text that a spreadsheet would run as a formula
    jsonl      events.jsonl       one event per line in order: the header columns, and under `event` its fields
    all        SCHEMA.md: every file, every column, its type and what it means

Rules
    - The same events give the same bytes, whether they are sealed or not (for Parquet: with the same pyarrow).
    - A field that has the same name as a header column becomes `event_<field>` in the file of its type.
    - Numbers that are not finite are exact in Parquet and CSV (`nan`, `inf`); in JSON, which cannot name them, `null`.
"""

import csv
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from mage_es.engine.exports import event_schema
from mage_es.events.errors import UsageError
from mage_es.events.facts import Event, Record, plain
from mage_es.events.facts.shapes import shapes_of
from mage_es.events.log.reader import LogReader
from mage_es.events.segments import columns, schema

# All control characters except tabs and line breaks, and the marks that reorder text on screen.
_CONTROLS = re.compile("\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
ExportFormat = Literal["parquet", "csv", "jsonl"]
FORMATS: tuple[str, ...] = get_args(ExportFormat)

# Rows of a Parquet row group, and most rows of a type in memory: few types occur often enough to fill one.
_BATCH = 16_384


class ExportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was written: events 1 to `until`, and the number of rows by file name."""

    run: str
    path: str
    format: ExportFormat
    until: int
    files: dict[str, int]


_Add = Callable[[Record], object]
"""Writes one more event into an open file."""


def export(reader: LogReader, target: Path, *, format: ExportFormat, until: int) -> ExportReport:
    """Write events 1 to `until` into the folder `target`, which is created. A failed export leaves no files.

    Raises `UsageError` if the folder is not empty, `LogDamaged`, `UnknownEvent`.
    """
    with new_folder(target):
        return _export(reader, target, format=format, until=until)


@contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """Create a folder that the block fills; if that fails nothing is left, since half an export looks like a complete
    one.

    Raises `UsageError` if the folder is not empty.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} is not an empty folder: give a new one, so that nothing there is overwritten.")
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:  # also Ctrl-C
        shutil.rmtree(path)
        raise


def _export(reader: LogReader, target: Path, *, format: ExportFormat, until: int) -> ExportReport:
    types, files, rows = set[type[Event]](), dict[str, _Add](), Counter[str]()
    with ExitStack() as opened:
        for record in reader.records(since=1, until=until):
            cls = type(record.event)
            types.add(cls)
            name = event_schema.file_of(cls, format)
            # A file per type that occurs, opened when its first event comes.
            if name not in files:
                files[name] = opened.enter_context(_OPENERS[format](target / name, cls))
            files[name](record)
            rows[name] += 1
    about = f"Events 1 to {until} of the log, as {format}."
    page = event_schema.described(
        types, reader.vocabulary.meanings, format=format, title=f"Events of {reader.run}", about=about
    )
    (target / "SCHEMA.md").write_text(page, encoding="utf-8")
    return ExportReport(run=reader.run, path=str(target), format=format, until=until, files=dict(sorted(rows.items())))


@contextmanager
def _parquet(path: Path, cls: type[Event]) -> Iterator[_Add]:
    schema_of_file, batch = event_schema.arrow_schema(cls), list[Record]()

    def add(record: Record) -> None:
        batch.append(record)
        # Bounds memory: a run may have millions of events of one type.
        if len(batch) == _BATCH:
            flush()

    def flush() -> None:
        headers = zip(*map(plain.header, batch), strict=True)
        arrays = [pa.array(values, field.type) for values, field in zip(headers, schema.HEADER, strict=True)]
        for name, shape in shapes_of(cls).items():
            values: list[Any] = [getattr(record.event, name) for record in batch]
            is_vector = shape.kind == "vector"
            arrays.append(columns.vectors_to_arrow(values) if is_vector else columns.to_arrow(values, shape))
        file.write_table(pa.Table.from_arrays(arrays, schema=schema_of_file))
        batch.clear()

    options: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True, "store_schema": False}
    with pq.ParquetWriter(path, schema_of_file, **options) as file:
        yield add
        if batch:
            flush()


@contextmanager
def _csv(path: Path, cls: type[Event]) -> Iterator[_Add]:
    is_text = [True] * len(plain.HEADER) + [shape.kind == "str" for shape in shapes_of(cls).values()]

    def add(record: Record) -> None:
        write(map(_cell, [*plain.plain_header(record).values(), *plain.plain_event(record).values()], is_text))

    with path.open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file, lineterminator="\n").writerow
        write([*plain.HEADER, *map(event_schema.column_of, cls.__struct_fields__)])
        yield add


def _cell(value: object, is_text: bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value) if isinstance(value, str | int | float) else msgspec.json.encode(value).decode()
    # A spreadsheet takes it for a formula, a terminal for a command.
    text = f"'{text}" if is_text and text.startswith(_FORMULA) else text
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@contextmanager
def _json_lines(path: Path, cls: type[Event]) -> Iterator[_Add]:
    with path.open("wb") as file:
        yield lambda record: file.write(msgspec.json.encode(plain.plain(record)) + b"\n")


_OPENERS: dict[ExportFormat, Callable[[Path, type[Event]], AbstractContextManager[_Add]]] = {
    "parquet": _parquet,
    "csv": _csv,
    "jsonl": _json_lines,
}
