"""The columns of an export: their names, their types, and a description of each for people and for programs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import pyarrow as pa

from mage_es.events.segments import schema
from mage_es.events.segments.columns import VECTOR, arrow_type
from mage_es.events.vocabulary import Event, Part, plain, tag_of
from mage_es.events.vocabulary.meanings import meanings_of
from mage_es.events.vocabulary.shapes import Shape, shapes_of


class ExportColumn(msgspec.Struct, frozen=True):
    """A column, or a member of a nested one: `type` as the file stores it."""

    name: str
    type: str
    meaning: str


class PartTable(msgspec.Struct, frozen=True):
    """A value inside columns: its members."""

    name: str
    meaning: str
    members: list[ExportColumn]


class TypeTable(msgspec.Struct, frozen=True):
    """An event type, the file it is in, and its columns besides those of the header."""

    type: str
    version: int
    file: str
    meaning: str
    columns: list[ExportColumn]


class Document(msgspec.Struct, frozen=True):
    run: str
    until: int
    format: str
    rows: Mapping[str, int]
    header: list[ExportColumn]
    types: list[TypeTable]
    parts: list[PartTable]


def file_of(cls: type[Event], format: str) -> str:
    return "events.jsonl" if format == "jsonl" else f"{tag_of(cls)}.{format}"


def column_of(field: str) -> str:
    return f"event_{field}" if field in plain.HEADER else field


def arrow_schema(cls: type[Event]) -> pa.Schema:
    fields = [pa.field(column_of(name), _arrow(shape), nullable=False) for name, shape in shapes_of(cls).items()]
    return pa.schema([*schema.HEADER, *fields])


def describe(types: Sequence[type[Event]], *, format: str, run: str, until: int, rows: Mapping[str, int]) -> Document:
    stored = {field.name: str(field.type) for field in schema.HEADER}
    kinds = stored if format == "parquet" else {name: _HEADER_TEXT.get(name, "string") for name in stored}
    # Sorted: the same events must give the same bytes, however their types were first met.
    ordered = sorted(types, key=tag_of)
    return Document(
        run=run,
        until=until,
        format=format,
        rows=rows,
        header=[ExportColumn(name, kinds[name], meaning) for name, meaning in plain.HEADER.items()],
        types=[_type_table(cls, format) for cls in ordered],
        parts=[
            PartTable(part.__name__, _doc(part), list(_columns(part, format)))
            for part in _parts(shape for cls in ordered for shape in shapes_of(cls).values())
        ],
    )


def as_markdown(document: Document) -> str:
    lines = [
        f"# Events of {document.run}",
        "",
        f"Events 1 to {document.until} of the log, as {document.format}. {_NOTES[document.format]}",
        "",
        "## Columns of every event",
        "",
        *_table(document.header),
    ]
    for table in document.types:
        lines += ["", f"## {table.type}", "", f"`{table.file}`, schema version {table.version}. {table.meaning}", ""]
        lines += _table(table.columns)
    for part in document.parts:
        lines += ["", f"## {part.name} (inside other columns)", "", part.meaning, "", *_table(part.members)]
    return "\n".join(lines) + "\n"


_HEADER_TEXT = {
    **dict.fromkeys(("seq", "sv", "iteration", "ordinal", "causation_seq", "commit"), "integer"),
    "event_id": "string, 32 hexadecimal digits",
    "ts": "string, ISO 8601, UTC",
}

_NOTES = {
    "parquet": "Vectors are lists of float32.",
    "csv": "Lists and parts are JSON text; bytes are base64, vectors base64 of little-endian float32.",
    "jsonl": "One JSON object per line, in order; the columns of a type are members of its `event`. "
    "Bytes are base64, vectors base64 of little-endian float32.",
}

_PLAIN = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "bytes": "string, base64"}


def _type_table(cls: type[Event], format: str) -> TypeTable:
    columns = list(_columns(cls, format))
    if format != "jsonl":
        columns = [ExportColumn(column_of(column.name), column.type, column.meaning) for column in columns]
    return TypeTable(tag_of(cls), cls.version, file_of(cls, format), _doc(cls), columns)


def _columns(cls: type[Event] | type[Part], format: str) -> Iterator[ExportColumn]:
    for name, shape in shapes_of(cls).items():
        # Parquet's name for what a list holds is `element`.
        kind = str(_arrow(shape)).replace("list<item:", "list<element:") if format == "parquet" else _text(shape)
        is_json = format == "csv" and issubclass(cls, Event) and shape.kind in ("list", "part")
        yield ExportColumn(name, f"JSON text of {kind}" if is_json else kind, meanings_of(cls)[name])


def _arrow(shape: Shape) -> pa.DataType:
    return VECTOR if shape.kind == "vector" else arrow_type(shape)


def _text(shape: Shape) -> str:
    if shape.item is not None:
        return f"list of {_text(shape.item)}"
    if shape.part is not None:
        return shape.part.__name__
    return "string, base64 of little-endian float32" if shape.kind == "vector" else _PLAIN[shape.kind]


def _parts(shapes: Iterable[Shape]) -> list[type[Part]]:
    found: dict[str, type[Part]] = {}
    waiting = list(shapes)
    while waiting:
        shape = waiting.pop()
        waiting += [member for _, member in shape.members] + ([shape.item] if shape.item else [])
        if shape.part is not None:
            found[shape.part.__name__] = shape.part
    return [found[name] for name in sorted(found)]


def _doc(cls: type[Event] | type[Part]) -> str:
    return " ".join((inspect.getdoc(cls) or "").split())


def _table(columns: Iterable[ExportColumn]) -> list[str]:
    rows = [f"| `{column.name}` | {column.type} | {column.meaning} |" for column in columns]
    return ["| column | type | meaning |", "| --- | --- | --- |", *rows]
