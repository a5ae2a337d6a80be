"""The columns of an export: their names, their types, and a description of each."""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from mage_es.engine.seams.field_docs import field_docs
from mage_es.events.facts import Event, Part, plain, tag_of
from mage_es.events.facts.shapes import Shape, shapes_of
from mage_es.events.segments import schema
from mage_es.events.segments.columns import VECTOR, arrow_type


def file_of(cls: type[Event], format: str) -> str:
    return "events.jsonl" if format == "jsonl" else f"{tag_of(cls)}.{format}"


def column_of(field: str) -> str:
    return f"event_{field}" if field in plain.HEADER else field


def arrow_schema(cls: type[Event]) -> pa.Schema:
    fields = [pa.field(column_of(name), _arrow(shape), nullable=False) for name, shape in shapes_of(cls).items()]
    return pa.schema([*schema.HEADER, *fields])


def described(types: Iterable[type[Event]], meanings: Mapping[str, str], *, format: str, title: str, about: str) -> str:
    """Return a page in Markdown about an export: every file, and every column with its type and meaning."""
    stored = {field.name: str(field.type) for field in schema.HEADER}
    kinds = stored if format == "parquet" else {name: _HEADER_TEXT.get(name, "string") for name in stored}
    # Sorted: the same events must give the same bytes, whichever of their types came first.
    ordered = sorted(types, key=tag_of)
    lines = [f"# {title}", "", f"{about} {_NOTES[format]}"]
    lines += _section("Columns of every event", "", [(name, kinds[name], of) for name, of in plain.HEADER.items()])
    for cls in ordered:
        file = f"`{file_of(cls, format)}`, schema version {cls.version}. {_doc(cls)}"
        lines += _section(tag_of(cls), file, _columns(cls, meanings, format))
    for part in _parts(shape for cls in ordered for shape in shapes_of(cls).values()):
        lines += _section(f"{part.__name__} (inside other columns)", _doc(part), _columns(part, meanings, format))
    return "\n".join(lines) + "\n"


_HEADER_TEXT = {
    **dict.fromkeys(("seq", "sv", "iteration", "ordinal", "causation_seq", "commit"), "integer"),
    "event_id": "string, 32 hexadecimal digits",
    "ts": "string, ISO 8601, UTC",
}

_NOTES = {
    "parquet": "Vectors are lists of float32.",
    "csv": "Lists and parts are JSON text; bytes are base64, vectors base64 of little-endian float32. "
    "A text that begins with =, +, -, @, a tab or a return has an apostrophe before it: a spreadsheet would run it. "
    "Control characters and marks that reorder a text are written as in JSON, such as \\u001b.",
    "jsonl": "One JSON object per line, in order; the columns of a type are members of its `event`. "
    "Bytes are base64, vectors base64 of little-endian float32.",
}

_PLAIN = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "bytes": "string, base64"}


def meanings_of(cls: type[Event] | type[Part], common: Mapping[str, str]) -> dict[str, str]:
    """Return the meaning of each field: its docstring, or else the text in `common` for a field of this name, or
    nothing."""
    return {name: field_docs(cls).get(name) or common.get(name, "") for name in cls.__struct_fields__}


def _columns(cls: type[Event] | type[Part], meanings: Mapping[str, str], format: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the type in the file, and the meaning of each field."""
    for name, shape in shapes_of(cls).items():
        # Parquet calls a list's items `element`.
        kind = str(_arrow(shape)).replace("list<item:", "list<element:") if format == "parquet" else _text(shape)
        is_json = format == "csv" and issubclass(cls, Event) and shape.kind in ("list", "part")
        column = column_of(name) if issubclass(cls, Event) and format != "jsonl" else name
        yield column, f"JSON text of {kind}" if is_json else kind, meanings_of(cls, meanings)[name]


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
    return " ".join((cls.__doc__ or "").split())


def _section(title: str, about: str, columns: Iterable[tuple[str, str, str]]) -> list[str]:
    rows = [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in columns]
    head = ["", f"## {title}", "", *([about, ""] if about else [])]
    return [*head, "| column | type | meaning |", "| --- | --- | --- |", *rows]
