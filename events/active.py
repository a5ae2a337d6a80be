"""The write-ahead file that is being appended to: what is in it, where, and when it is full."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import NamedTuple

from mage_es.events.filesystem import File

ROLL_EVENTS = 32_768
"""Events after which a write-ahead file is sealed, before the next append."""

ROLL_BYTES = 16 << 20
"""Bytes after which it is."""


class Place(NamedTuple):
    """Where a frame stands in the file."""

    first: int
    offset: int
    size: int


class ActiveWal:
    """An open write-ahead file whose first event is, or will be, `first`."""

    def __init__(self, first: int, file: File) -> None:
        self.first = first
        self.file = file
        self.has_facts = False
        self._places: list[Place] = []
        self._size = 0
        self._events = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time to seal."""
        return self._events >= ROLL_EVENTS or self._size >= ROLL_BYTES

    def add(self, first: int, events: int, size: int, *, facts: bool) -> None:
        """Note a frame that is durable; `facts` if it holds more than the log's own records."""
        self._places.append(Place(first, self._size, size))
        self._size += size
        self._events += events
        self.has_facts = self.has_facts or facts

    def place_of(self, seq: int) -> Place:
        """Return where the frame is that holds event `seq`, which is in this file."""
        return self._places[bisect_right(self._places, seq, key=attrgetter("first")) - 1]
