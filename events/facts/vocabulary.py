"""A vocabulary: which types of events a log can hold, what is special about some of them, and how older versions are
read.

Rules
    - Adding a field with a default needs no new version. Renaming, retyping or removing a field does: raise the class's
      `version` by one, and give the vocabulary a pure function that turns the old payload into the new one.
    - Sealed bytes are never rewritten; upcasting happens on reading. Rows that are still in the write-ahead file when a
      new release opens the log are sealed in the current version.
    - A type or version that this release does not know stops only readers that ask for that type.
    - Some properties are declared on the field itself (event.py) and not repeated here: which texts are a subject's,
      and which bytes are a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import msgspec

from mage_es.events.errors import LogDamaged, UnknownEvent
from mage_es.events.facts.event import Event, Part, tag_of
from mage_es.events.facts.records import LogRepaired, SegmentSealed, SignerNamed

Payload = dict[str, Any]
Upcaster = Callable[[Payload], Payload]
OWN: tuple[type[Event], ...] = (SegmentSealed, SignerNamed, LogRepaired)
"""The log's own records, which every vocabulary has."""


class QuestionTypes(NamedTuple):
    """Types of questions that are stored beside a log (segments/questions.py): the event that binds them, and their
    rows."""

    stored: type[Any]
    text: type[Part]
    gold: type[Part]


class Vocabulary:
    """The event types of a log by tag, and what the log has to know about some of them.

    `upcasters` are by (tag, version that they start from). `marks` are the ends of iterations, and of their phases,
    with the fields that say which: the iteration, and perhaps the phase. After each of `heads` the log renews HEAD,
    which outlives a restart of the machine. After each of `signed` a signed head is due, once a signer is named.
    Nothing follows one of `ends`, so followers stop. The log keeps no index of the types in `once`: each such fact is
    new, and appending it again records it again. `meanings` explains fields without a docstring, by name. Raises
    `TypeError` for a type without a tag, or two types with the same.
    """

    default: ClassVar[Vocabulary]
    """The vocabulary of a log that is opened without one: the package's own, set in events/__init__.py."""

    def __init__(
        self,
        types: Iterable[type[Event]],
        *,
        upcasters: Mapping[tuple[str, int], Upcaster] | None = None,
        marks: Mapping[type[Event], tuple[str, ...]] | None = None,
        heads: Collection[type[Event]] = (),
        signed: Collection[type[Event]] = (),
        ends: Collection[type[Event]] = (),
        once: Collection[type[Event]] = (),
        questions: QuestionTypes | None = None,
        meanings: Mapping[str, str] | None = None,
    ) -> None:
        self.types: dict[str, type[Event]] = {}
        for cls in dict.fromkeys((*OWN, *types)):
            if cls.__struct_config__.tag is None or self.types.setdefault(tag_of(cls), cls) is not cls:
                raise TypeError(f"{cls.__name__} needs a tag that no other type has: class ...(Event, ..., tag='a.b').")
        self.versions = {tag: cls.version for tag, cls in self.types.items() if cls.version != 1}
        self.marks = marks or {}
        self.heads, self.once = frozenset(map(tag_of, heads)), frozenset(map(tag_of, once))
        self.signed, self.ends = tuple(signed), tuple(ends)
        self.questions = questions
        self.meanings = meanings or {}
        self._upcasters = upcasters or {}

    def require(self, tag: str, version: int) -> type[Event]:
        """Return the class that events of this tag and version are read as. Raises `UnknownEvent`."""
        cls = self.types.get(tag)
        if cls is None:
            raise UnknownEvent(f"the log holds events of type {tag!r}, which this release does not know. {_NEWER}")
        if version > cls.version:
            raise UnknownEvent(f"the log holds {tag} in version {version}, this release knows {cls.version}. {_NEWER}")
        for step in range(version, cls.version):
            if (tag, step) not in self._upcasters:
                raise UnknownEvent(f"nothing leads from version {step} of {tag} to {step + 1}. {_NEWER}")
        return cls

    def upcast(self, tag: str, version: int, payload: Payload) -> Event:
        """Return the current form of an event, given its older payload as builtins. Raises `UnknownEvent`,
        `LogDamaged`."""
        cls = self.require(tag, version)
        try:
            for step in range(version, cls.version):
                payload = self._upcasters[tag, step](payload)
            return msgspec.convert(payload, cls)
        except (msgspec.ValidationError, LookupError, TypeError, ValueError) as error:
            raise LogDamaged(f"{tag} in version {version} does not become version {cls.version}: {error}.") from error


_NEWER = "Read this run with the release that wrote it, or a newer one."
