"""What was released must stay readable: the vocabulary held against the fields that golden logs were written with."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mage_es.events.errors import UnknownEvent
from mage_es.events.facts.shapes import shapes_of
from mage_es.events.facts.vocabulary import Vocabulary
from mage_es.events.vocabulary import Event

Schema = Mapping[str, Mapping[str, Any]]
"""By type: `version`, `fingerprint`, and `fields` with their shapes, as `generate.schema` gives them."""


def broken_promises(released: Schema, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield in words whatever of a released schema the vocabulary could not read any more."""
    for tag, told in released.items():
        try:
            cls = vocabulary.require(tag, told["version"])
        except UnknownEvent as error:
            yield f"{tag}: {error}"
            continue
        if cls.version == told["version"]:
            yield from (f"{tag}: {problem}" for problem in _changes(cls, told["fields"]))


def _changes(cls: type[Event], fields: Mapping[str, str]) -> Iterator[str]:
    """Yield what no field of a version may do once it was released."""
    shapes = {name: str(shape) for name, shape in shapes_of(cls).items()}
    required = {field.name for field in msgspec.structs.fields(cls) if field.required}
    for name, shape in fields.items():
        if name not in shapes:
            yield f"{name} was removed or renamed without a new version"
        elif shapes[name] != shape:
            yield f"{name} was {shape} and is {shapes[name]} without a new version"
    for name in sorted(required - fields.keys()):
        yield f"{name} was added without a default and without a new version"
