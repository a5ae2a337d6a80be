"""Reading what earlier releases wrote: which event types there are, and how an older payload becomes a present one.

Rules
    - Adding a field with a default is no new version. Renaming, retyping or removing one is: raise the class's
      `version` by one and register here a pure function from the old payload to the next version's.
    - Sealed bytes are never rewritten; upcasting happens on reading. Rows that are still in the write-ahead file when a
      new release opens the log are sealed in the present version.
    - A type or version that this release does not know stops a reader only if it asks for that type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from mage_es.events.errors import LogDamaged, UnknownEvent
from mage_es.events.vocabulary import EVENT_TYPES, Event

Payload = dict[str, Any]
Upcaster = Callable[[Payload], Payload]


class Registry:
    """The event types by tag, and the upcasters by (tag, version that they start from)."""

    def __init__(self, types: Mapping[str, type[Event]], upcasters: Mapping[tuple[str, int], Upcaster]) -> None:
        self.types = types
        self._upcasters = upcasters

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
        """Return the present event that an older payload of builtins means. Raises `UnknownEvent`, `LogDamaged`."""
        cls = self.require(tag, version)
        try:
            for step in range(version, cls.version):
                payload = self._upcasters[tag, step](payload)
            return msgspec.convert(payload, cls)
        except (msgspec.ValidationError, LookupError, TypeError, ValueError) as error:
            raise LogDamaged(f"{tag} in version {version} does not become version {cls.version}: {error}.") from error


_NEWER = "Read this run with the release that wrote it, or a newer one."

PRESENT = Registry(EVENT_TYPES, {})
