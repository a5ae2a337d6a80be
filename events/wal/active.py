"""The write-ahead file that is being appended to: what is in it, where, and when it is full."""

from bisect import bisect_right
from operator import attrgetter
from typing import NamedTuple

from mage_es.events.disk.filesystem import File

# A seal takes time and a recovery reads the whole file: neither may grow with the run.
ROLL_EVENTS = 32_768

ROLL_BYTES = 16 << 20


class FramePlace(NamedTuple):
    first: int
    offset: int
    size: int


class ActiveWal:
    """An open write-ahead file whose first event is, or will be, `first`."""

    def __init__(self, first: int, file: File) -> None:
        self.first = first
        self.file = file
        self.has_facts = False
        self._places: list[FramePlace] = []
        self._size = 0
        self._events = 0

    @property
    def is_full(self) -> bool:
        return self._events >= ROLL_EVENTS or self._size >= ROLL_BYTES

    def add(self, first: int, events: int, size: int, *, facts: bool) -> None:
        """Note a frame that is durable; `facts` if it holds more than the log's own records."""
        self._places.append(FramePlace(first, self._size, size))
        self._size += size
        self._events += events
        self.has_facts = self.has_facts or facts

    def place_of(self, seq: int) -> FramePlace:
        """Return where the frame is that holds event `seq`, which is in this file."""
        # Frames are in order, so the right one is the last that does not begin behind `seq`.
        return self._places[bisect_right(self._places, seq, key=attrgetter("first")) - 1]
