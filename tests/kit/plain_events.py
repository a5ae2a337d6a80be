"""Events of which a test says only what it depends on."""

from functools import cache
from typing import Any, TypeVar

import msgspec

from mage_es.events.facts.shapes import Shape, shapes_of
from mage_es.events.vocabulary import Event, Part

Plain = TypeVar("Plain", bound=Event | Part)


def plain(cls: type[Plain], **given: Any) -> Plain:
    """Return an event or part with these values; other fields have their default or, without one, nothing in them."""
    return cls(**{**_nothing(cls), **given})


@cache
def _nothing(cls: type[Event | Part]) -> dict[str, Any]:
    shapes = shapes_of(cls)  # type: ignore[arg-type]  # to mypy, the type of a union is no union of types
    return {each.name: _empty(shapes[each.name]) for each in msgspec.structs.fields(cls) if each.required}


def _empty(shape: Shape) -> Any:
    if shape.part is not None:
        return plain(shape.part)
    if shape.item is not None:
        return ()
    if shape.choices:
        return shape.choices[0]
    return {"str": "", "int": 0, "float": 0.0, "bool": False, "bytes": b"", "vector": b""}[shape.kind]
