"""The requirements for storing an event: every value exactly of its field's type, and small enough for its column.

Values that a reader would convert (a list for a tuple, 1 for 1.0) are not exact, but are not refused either: the codec
encodes and decodes them, and the event is the result.
"""

# Checked before anything is written, because an event that cannot be sealed would stop its log for ever.

import functools
from collections.abc import Callable, Iterator, Sequence
from string import Formatter
from typing import Any, get_args

from mage_es.events.facts import Coordinates, Draft, Event, Phase, SegmentSealed, Vocabulary, tag_of
from mage_es.events.facts.shapes import Shape, shapes_of

_LARGEST = (1 << 63) - 1
INT32_MAX = (1 << 31) - 1

_Check = Callable[[Draft, Any], Coordinates | None]
"""Takes a draft and its event, of one type; returns the coordinates if every value is exactly of its type."""


class Checks(dict[type[Any], _Check]):
    """The checks of a vocabulary's types."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._types = vocabulary.types

    def __missing__(self, cls: type[Any]) -> _Check:
        # A class that is not the one registered for its tag is decoded as that one, or refused.
        is_fact = issubclass(cls, Event) and cls is not SegmentSealed and self._types.get(tag_of(cls)) is cls
        # Compiled once per type and vocabulary.
        check = self[cls] = _compiled(cls) if is_fact else lambda draft, event: None
        return check


def coordinates_of(drafts: list[Draft], checks: Checks) -> list[Coordinates] | None:
    """Return the coordinates of each draft, or None if a value of any of them is not exactly of its type."""
    found = [checks[event.__class__](draft, event) for draft in drafts for event in (draft.event,)]
    # Coordinates are never empty tuples, so None is the only false value here.
    return found if all(found) else None  # type: ignore[return-value]


def require_storable(event: Event) -> None:
    """Raise `OverflowError` or `TypeError` if a field's value, though of the right type, does not fit its column."""
    for name, shape in shapes_of(type(event)).items():
        _require_fitting(shape, getattr(event, name), f"{type(event).__name__}.{name}")


def _require_fitting(shape: Shape, value: Any, where: str) -> None:
    if shape.kind == "int" and value > _LARGEST:
        raise OverflowError(f"{where} is above {_LARGEST}")
    if shape.kind == "vector" and len(value) % 4:
        raise TypeError(f"{where} has {len(value)} bytes, which is not a whole number of float32 values")
    if shape.item is not None:
        for item in value:
            _require_fitting(shape.item, item, where)
    for name, member in shape.members:
        _require_fitting(member, getattr(value, name), f"{where}.{name}")


def _compiled(cls: type[Event]) -> _Check:
    # Compiled from text, because every appended event is checked: walking over shapes takes five times as long.
    names: dict[str, Any] = {}
    fields = [line for name, shape in shapes_of(cls).items() for line in _lines(shape, f"e.{name}", "v", names)]
    # The coordinates are computed on the way, since every append needs them too.
    key = f"(d.iteration, d.phase, {_subject(cls.stream)}, {tag_of(cls)!r}, d.ordinal)"
    # As dataclasses do; the names come from our own classes, never from a log.
    exec("\n    ".join(["def check(d, e):", *_header(), *fields, f"return {key}"]), names)
    check: _Check = names["check"]
    return check


def _header() -> Iterator[str]:
    yield _unless(f"d.iteration.__class__ is int and -1 <= d.iteration <= {INT32_MAX}")
    yield _unless(f"d.phase.__class__ is str and d.phase in {_set(get_args(Phase))}")
    for name in ("ordinal", "causation"):
        yield _unless(f"d.{name}.__class__ is int and 0 <= d.{name} <= {_LARGEST}")
    yield _unless("d.correlation.__class__ is str")


def _lines(shape: Shape, value: str, item: str, names: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that check a value, given as an expression. Items are named `item`; `names` collects parts."""
    if shape.item is not None:
        # `is`, not isinstance: True is an int and a list would come back as a tuple.
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
    made: Callable[[Sequence[Any]], list[str]] = eval(f"lambda events: [{_subject(cls.stream)} for e in events]")
    return made


def _subject(stream: str) -> str:
    # The same text that `Event.subject` makes of the pattern, without a call for each event.
    parts = Formatter().parse(stream)
    text = "".join(_literal(text) + (f"{{e.{field.removeprefix('0.')}}}" if field else "") for text, field, *_ in parts)
    return f'f"{text}"'


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("{", "{{").replace("}", "}}")
