"""The fields of events, and of what was learned, as JSON and as text."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from mage_es.events.facts.shapes import shapes_of
from mage_es.events.vocabulary import Event

_LONGEST_BYTES = 64
"""Most bytes of a field that a payload shows; for longer ones it gives the length."""
_HERE = frozenset(
    {"embedding", "memory_id", "tool_id", "recipe_id", "origin", "iteration", "phase", "ordinal", "skill"}
)
"""Fields of something learned that the table of memories already has, or that are shown elsewhere."""


def payload_of(event: Event) -> dict[str, Any]:
    values = msgspec.structs.asdict(event)
    return values | {name: _plain(values[name]) for name in _bytes_in(type(event))}


def fields_of(thing: Any) -> list[list[str]]:
    """Return the fields of something learned, each with its name, as text."""
    values = msgspec.structs.asdict(thing)
    shown = {field: value for field, value in values.items() if field not in _HERE and value not in ("", ())}
    return [[field, _words(value)] for field, value in shown.items()]


@functools.cache
def _bytes_in(cls: type[Event]) -> list[str]:
    """Return the fields of a type that hold bytes; JSON has all others as they are."""
    return [name for name, shape in shapes_of(cls).items() if "bytes" in str(shape) or shape.kind == "vector"]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; for long bytes (a vector, a table of hashes) only their number."""
    if isinstance(value, bytes):
        return value.hex() if len(value) <= _LONGEST_BYTES else {"bytes": len(value)}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    return value


def _words(value: Any) -> str:
    """Return a field of something learned as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    return msgspec.json.format(msgspec.json.encode(_plain(value), enc_hook=str)).decode()
