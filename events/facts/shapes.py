"""What the fields of an event can be, as a small tree that columns, fingerprints and checks are derived from.

    str int float bool bytes | vector | list of shapes | part (named shapes)

`Literal` counts as str. Everything else is a `TypeError` when the type is first used, before anything is recorded.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from mage_es.events.facts.event import Event, Part

_PLAIN = {str: "str", int: "int", float: "float", bool: "bool", bytes: "bytes"}


class Shape(msgspec.Struct, frozen=True):
    """One field's shape: `members` are the named fields of a part, `item` what a list holds.

    `choices` are the texts that a str may be, if these are limited; `marks` are declarations about a text, such as
    `private`. The bytes on disk depend on neither.
    """

    kind: Literal["str", "int", "float", "bool", "bytes", "vector", "list", "part"]
    item: Shape | None = None
    part: type[Part] | None = None
    members: tuple[tuple[str, Shape], ...] = ()
    choices: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.item is not None:
            return f"list<{self.item}>"
        if self.part is not None:
            return "part<" + ",".join(f"{name}:{shape}" for name, shape in self.members) + ">"
        return self.kind


@functools.cache
def shapes_of(cls: type[Event] | type[Part]) -> dict[str, Shape]:
    """Return the shape of every field of an event or part, in field order. Raises `TypeError`."""
    # Resolved here, not at import: annotations are texts, and few processes need the shapes of every type.
    hints = get_type_hints(cls, include_extras=True)
    return {field: _shape(hints[field], f"{cls.__name__}.{field}") for field in cls.__struct_fields__}


@functools.cache
def fields_with(cls: type[Event] | type[Part], mark: str) -> tuple[str, ...]:
    """Return the fields whose text or list of texts has a mark, or whose parts have such a field, in field order."""
    held = {name: shape.item or shape for name, shape in shapes_of(cls).items()}
    return tuple(
        name for name, shape in held.items() if mark in shape.marks or (shape.part and fields_with(shape.part, mark))
    )


@functools.cache
def vectors_of(cls: type[Event]) -> tuple[str, ...]:
    return tuple(name for name, shape in shapes_of(cls).items() if shape.kind == "vector")


@functools.cache
def fingerprint(cls: type[Event]) -> str:
    """Return 16 hexadecimal digits that change whenever a field is added, renamed, retyped or removed."""
    text = ",".join(f"{name}:{shape}" for name, shape in shapes_of(cls).items())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _shape(annotation: Any, where: str) -> Shape:
    if get_origin(annotation) is Annotated:
        plain, *notes = get_args(annotation)
        said: dict[str, Any] = {}
        for note in notes:
            said |= (note.extra or {}) if isinstance(note, msgspec.Meta) else {}
        if said.get("column") == "vector":
            return Shape("vector")
        marks = tuple(mark for mark, holds in said.items() if holds is True)
        return msgspec.structs.replace(_shape(plain, where), marks=marks)
    if annotation in _PLAIN:
        return Shape(_PLAIN[annotation])  # type: ignore[arg-type]
    if get_origin(annotation) is Literal and all(isinstance(value, str) for value in get_args(annotation)):
        return Shape("str", choices=get_args(annotation))
    if get_origin(annotation) is tuple and len(get_args(annotation)) == 2 and get_args(annotation)[1] is Ellipsis:
        item = _shape(get_args(annotation)[0], where)
        if item.kind != "vector":
            return Shape("list", item=item)
    if isinstance(annotation, type) and issubclass(annotation, Part):
        members = shapes_of(annotation)
        if not any(shape.kind == "vector" for shape in members.values()):
            return Shape("part", part=annotation, members=tuple(members.items()))
    raise TypeError(f"{where} cannot be {annotation!r}: use str, int, float, bool, bytes, a Part, or tuples of these.")
