"""Events with fields drawn at random, each of its type; what a test depends on is given."""

from functools import cache
from random import Random
from typing import Any, TypeVar

import msgspec
import numpy as np

from mage_es.events.facts.shapes import Shape, shapes_of
from mage_es.events.vocabulary import Event, Part

DIMENSION = 8
"""The dimension of every embedding."""
TEXTS = ("", "5 - 3 = 2\nso 2", "How many apples — or “pears” — are left?", "a")

Drawn = TypeVar("Drawn", bound=Event | Part)


def drawn(cls: type[Drawn], random: Random, **given: Any) -> Drawn:
    """Return an event or part with these values; other fields have their default or, without one, any value."""
    shapes = shapes_of(cls)  # type: ignore[arg-type]  # to mypy, the type of a union is no union of types
    missing = [name for name in _required(cls) if name not in given]
    return cls(**{name: _value(shapes[name], random) for name in missing}, **given)


@cache
def _required(cls: type[Event | Part]) -> list[str]:
    return [each.name for each in msgspec.structs.fields(cls) if each.required]


def _value(shape: Shape, random: Random) -> Any:
    if shape.part is not None:
        return drawn(shape.part, random)
    if shape.item is not None:
        return tuple(_value(shape.item, random) for _ in range(random.randrange(3)))
    match shape.kind:
        case "str":
            return random.choice(shape.choices or TEXTS)
        case "int":
            return random.randrange(100)
        case "float":
            return random.random()
        case "bool":
            return random.random() < 0.5
    return np.array([random.gauss(0, 1) for _ in range(DIMENSION)], dtype="<f4").tobytes()
