"""The building blocks of every event: the base struct, value parts, phases, and the declarations that a field can
carry."""

from typing import Annotated, ClassVar, Literal

import msgspec

# Recorded words: a new one may be added, an old one never changes its meaning.
Phase = Literal[
    "open", "plan", "explore", "evaluate", "update", "evolve", "snapshot", "close", "exam", "log", "serve", "form"
]

# Little-endian float32; stored in the side file of a segment, because vectors do not compress.
EmbeddingBytes = Annotated[bytes, msgspec.Meta(extra={"column": "vector"})]

# Declared here, on the field; all code that seals, checks or shows texts reads it here (shapes.py, `fields_with`).
SubjectText = Annotated[str, msgspec.Meta(extra={"private": True})]
"""May belong to a subject, or reveal one: it is recorded under the subject's key (private.py)."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A value inside an event; never recorded on its own."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A fact. Subclasses name their stable tag as `class X(Event, frozen=True, kw_only=True, tag="noun.verbed")`.

    `version` is the schema version of the payload (`sv` in the record); `stream` is the pattern of `subject`.
    """

    version: ClassVar[int] = 1
    stream: ClassVar[str] = "run"

    @property
    def subject(self) -> str:
        """What the fact is about, such as `question/q17`; the stream that the record belongs to."""
        return self.stream.format(self)


def tag_of(event: Event | type[Event]) -> str:
    return str(event.__struct_config__.tag)
