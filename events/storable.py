"""What msgpack takes and a column could not hold: integers beyond 64 signed bits, vectors that are not float32.

Checked before anything is written, because an event that cannot be sealed would stop its log for ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from mage_es.events.shapes import Shape, shapes_of
from mage_es.events.vocabulary import Event

_LARGEST = (1 << 63) - 1


def require_storable(event: Event) -> None:
    """Raise `OverflowError` or `TypeError` if a field's value, though of the right type, fits no column."""
    cls = type(event)
    if _has_excess(cls)(event):
        raise OverflowError(f"an integer of {cls.__name__} is above {_LARGEST}")
    for name in _vectors(cls):
        size = len(getattr(event, name))
        if size % 4:
            raise TypeError(f"{cls.__name__}.{name} has {size} bytes, which is no whole number of float32 values")


@functools.cache
def _vectors(cls: type[Event]) -> tuple[str, ...]:
    return tuple(name for name, shape in shapes_of(cls).items() if shape.kind == "vector")


@functools.cache
def _has_excess(cls: type[Event]) -> Callable[[Event], Any]:
    """Return a function that is true of events of this type that have too large an integer anywhere.

    Compiled from text, because it looks at every event that is appended: a walk over shapes takes four times as long.
    """
    conditions = [text for name, shape in shapes_of(cls).items() for text in _conditions(shape, f"event.{name}")]
    test: Callable[[Event], Any] = eval(f"lambda event: {' or '.join(conditions) or False}")
    return test


def _conditions(shape: Shape, value: str) -> Iterator[str]:
    """Yield, as expressions, what must not be true of the integers in a value; `value` is an expression, too."""
    if shape.kind == "int":
        yield f"{value} > {_LARGEST}"
    elif shape.item is not None:
        inner = " or ".join(_conditions(shape.item, "item"))
        if inner:
            yield f"any({inner} for item in {value})"
    for name, member in shape.members:
        yield from _conditions(member, f"{value}.{name}")
