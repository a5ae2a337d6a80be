"""The write-ahead file that is being appended to: what it holds, where, and when it is full."""

from array import array
from bisect import bisect_right
from typing import NamedTuple

from mage_es.events.disk.filesystem import File

# A seal takes time and a recovery reads the whole file: neither may grow with the run.
ROLL_EVENTS = 32_768

ROLL_BYTES = 16 << 20


class FramePlace(NamedTuple):
    offset: int
    size: int


class ActiveWal:
    """An open write-ahead file whose first event is, or will be, `first`."""

    def __init__(self, first: int, file: File) -> None:
        self.first = first
        self.file = file
        self.has_facts = False
        # Sixteen bytes per frame, because a file may have as many frames as events.
        self._firsts, self._offsets = array("Q"), array("Q")
        self._size = 0
        self._events = 0

    @property
    def is_full(self) -> bool:
        return self._events >= ROLL_EVENTS or self._size >= ROLL_BYTES

    def add(self, first: int, events: int, size: int, *, facts: bool) -> None:
        """Note a durable frame; `facts` is whether it holds more than the log's own records."""
        self._firsts.append(first)
        self._offsets.append(self._size)
        self._size += size
        self._events += events
        self.has_facts = self.has_facts or facts

    def place_of(self, seq: int) -> FramePlace:
        """Return where the frame that holds event `seq` is in this file."""
        # Frames are in order, so the right one is the last that does not begin after `seq`.
        number = bisect_right(self._firsts, seq)
        end = self._offsets[number] if number < len(self._offsets) else self._size
        return FramePlace(offset := self._offsets[number - 1], end - offset)
