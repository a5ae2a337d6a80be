"""What msgpack takes and a column could not hold: integers beyond 64 signed bits, vectors that are not float32.

Checked before anything is written, because an event that cannot be sealed would stop its log for ever.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from mage_es.events.shapes import Shape, shapes_of
from mage_es.events.vocabulary import Event

_LARGEST = (1 << 63) - 1
_Check = Callable[[Any], None]


def require_storable(event: Event) -> None:
    """Raise `OverflowError` or `TypeError` if a field's value, though of the right type, fits no column."""
    check = _event_check(type(event))
    if check is not None:
        check(event)


@functools.cache
def _event_check(cls: type[Event]) -> _Check | None:
    return _struct_check(shapes_of(cls))


def _struct_check(shapes: Mapping[str, Shape]) -> _Check | None:
    integers = [name for name, shape in shapes.items() if shape.kind == "int"]
    others = [(name, check) for name, shape in shapes.items() if shape.kind != "int" and (check := _field_check(shape))]
    values = operator.attrgetter(*integers, integers[0]) if integers else None  # twice the first: always a tuple
    if values is None and not others:
        return None

    def check_struct(value: Any) -> None:
        if values is not None and max(values(value)) > _LARGEST:
            raise OverflowError(f"an integer of {type(value).__name__} is above {_LARGEST}")
        for name, check in others:
            check(getattr(value, name))

    return check_struct


def _field_check(shape: Shape) -> _Check | None:
    if shape.kind == "int":
        return _check_integer
    if shape.kind == "vector":
        return _check_vector
    if shape.item is not None:
        check = _field_check(shape.item)
        return None if check is None else functools.partial(_check_each, check)
    return _struct_check(dict(shape.members)) if shape.part is not None else None


def _check_integer(value: int) -> None:
    if value > _LARGEST:
        raise OverflowError(f"the integer {value} is above {_LARGEST}")


def _check_vector(value: bytes) -> None:
    if len(value) % 4:
        raise TypeError(f"a vector has {len(value)} bytes, which is no whole number of float32 values")


def _check_each(check: _Check, values: tuple[Any, ...]) -> None:
    for value in values:
        check(value)
