"""What an event must be to be stored: every value exactly of its field's type, and small enough for its column.

Checked before anything is written, because an event that cannot be sealed would stop its log for ever.

Rules
    - A draft with such values comes back from every file bit for bit as it is, so nobody needs to read it back to know.
    - Whatever else a reader would still take (a list for a tuple, 1 for 1.0) is not exact, and not yet refused: the
      codec decodes it again, and the event is what comes of that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from string import Formatter
from typing import Any, get_args

from mage_es.events.envelope import Coordinates, Draft
from mage_es.events.shapes import Shape, shapes_of
from mage_es.events.vocabulary import EVENT_TYPES, Event, Phase, SegmentSealed, tag_of

_LARGEST = (1 << 63) - 1
INT32_MAX = (1 << 31) - 1

Look = Callable[[Draft, Any], Coordinates | None]
"""Takes a draft and its event, of one type; returns its coordinates if every value is exactly of its type."""


class _Looks(dict[type[Any], Look]):
    """The look of each type, made when it is first needed."""

    def __missing__(self, cls: type[Any]) -> Look:
        is_fact = issubclass(cls, Event) and cls is not SegmentSealed and EVENT_TYPES.get(tag_of(cls)) is cls
        look = self[cls] = _look(cls) if is_fact else lambda draft, event: None
        return look


_looks = _Looks()


def coordinates_of(drafts: list[Draft]) -> list[Coordinates] | None:
    """Return the coordinates of each draft, or None if a value of any of them is not exactly of its type."""
    found = [_looks[event.__class__](draft, event) for draft in drafts for event in (draft.event,)]
    return found if all(found) else None  # type: ignore[return-value]


def require_storable(event: Event) -> None:
    """Raise `OverflowError` or `TypeError` if a field's value, though of the right type, fits no column."""
    for name, shape in shapes_of(type(event)).items():
        _require_fitting(shape, getattr(event, name), f"{type(event).__name__}.{name}")


def _require_fitting(shape: Shape, value: Any, where: str) -> None:
    if shape.kind == "int" and value > _LARGEST:
        raise OverflowError(f"{where} is above {_LARGEST}")
    if shape.kind == "vector" and len(value) % 4:
        raise TypeError(f"{where} has {len(value)} bytes, which is no whole number of float32 values")
    if shape.item is not None:
        for item in value:
            _require_fitting(shape.item, item, where)
    for name, member in shape.members:
        _require_fitting(member, getattr(value, name), f"{where}.{name}")


# ------------------------------------------------------------ the look, compiled


def _look(cls: type[Event]) -> Look:
    """Return the look of a type.

    Compiled from text, because every event that is appended is looked at: a walk over shapes takes five times as long.
    """
    names: dict[str, Any] = {}
    fields = [line for name, shape in shapes_of(cls).items() for line in _lines(shape, f"e.{name}", "v", names)]
    key = f"(d.iteration, d.phase, {_subject(cls.stream)}, {tag_of(cls)!r}, d.ordinal)"
    exec("\n    ".join(["def look(d, e):", *_header(), *fields, f"return {key}"]), names)
    look: Look = names["look"]
    return look


def _header() -> Iterator[str]:
    yield _unless(f"d.iteration.__class__ is int and -1 <= d.iteration <= {INT32_MAX}")
    yield _unless(f"d.phase.__class__ is str and d.phase in {_set(get_args(Phase))}")
    for name in ("ordinal", "causation"):
        yield _unless(f"d.{name}.__class__ is int and 0 <= d.{name} <= {_LARGEST}")
    yield _unless("d.correlation.__class__ is str")


def _lines(shape: Shape, value: str, item: str, names: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that look at a value, which is an expression; items are named `item`. `names` gets the parts."""
    if shape.item is not None:
        yield _unless(f"{value}.__class__ is tuple")
        yield f"for {item} in {value}:"
        yield from (f"    {line}" for line in _lines(shape.item, item, f"{item}v", names))
    elif shape.part is not None:
        names[shape.part.__name__] = shape.part
        yield _unless(f"{value}.__class__ is {shape.part.__name__}")
        for name, member in shape.members:
            yield from _lines(member, f"{value}.{name}", item, names)
    elif shape.choices:
        yield _unless(f"{value}.__class__ is str and {value} in {_set(shape.choices)}")
    elif shape.kind == "int":  # the encoder refuses one below the least of 64 bits
        yield _unless(f"{value}.__class__ is int and {value} <= {_LARGEST}")
    elif shape.kind == "vector":
        yield _unless(f"{value}.__class__ is bytes and not len({value}) % 4")
    else:
        yield _unless(f"{value}.__class__ is {shape.kind}")


def _set(choices: tuple[str, ...]) -> str:
    return "{" + ", ".join(map(repr, choices)) + "}"


def _unless(condition: str) -> str:
    return f"if not ({condition}): return None"


@functools.cache
def subjects(cls: type[Event]) -> Callable[[Sequence[Any]], list[str]]:
    """Return a function that gives the subject of each of some events of a type."""
    made: Callable[[Sequence[Any]], list[str]] = eval(f"lambda events: [{_subject(cls.stream)} for e in events]")
    return made


def _subject(stream: str) -> str:
    """Return the expression of a subject: what `Event.subject` makes of the pattern."""
    parts = Formatter().parse(stream)
    text = "".join(_literal(text) + (f"{{e.{field.removeprefix('0.')}}}" if field else "") for text, field, *_ in parts)
    return f'f"{text}"'


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("{", "{{").replace("}", "}}")
