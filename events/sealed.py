"""All sealed segments of a log as one sequence, each compared with its recorded hash before it is believed.

Rules
    - The hash of a segment is recorded in the events that follow it: in the next segment, or for the newest one in the
      write-ahead file. A reader therefore looks one segment ahead, and so every segment vouches for the one before.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from mage_es.events import wal
from mage_es.events.documents import RESTORE
from mage_es.events.envelope import Record
from mage_es.events.errors import LogDamaged
from mage_es.events.filesystem import FileSystem
from mage_es.events.layout import Layout, Range
from mage_es.events.rows import RowReader
from mage_es.events.segment_reader import Reads, Segment
from mage_es.events.upcasting import PRESENT, Registry
from mage_es.events.vocabulary import Event, SegmentSealed, tag_of

_ALL: Reads = {SegmentSealed: SegmentSealed.__struct_fields__}


def seals_in(frames: Iterable[wal.Frame]) -> dict[int, SegmentSealed]:
    """Return what unsealed frames record of sealed segments, by first sequence number; the newest record counts."""
    reader = RowReader(PRESENT)
    own = (frame for frame in frames if frame.events == 1)  # the log commits its own records one by one
    events = (event for frame in own for _, event in reader.events(frame, {tag_of(SegmentSealed)}))
    return {event.first: event for event in events if isinstance(event, SegmentSealed)}


class SealedEvents:
    """The sealed part of a log. `spans` and `recorded` are given by whoever knows the tail, see `show`."""

    def __init__(self, fs: FileSystem, layout: Layout, registry: Registry) -> None:
        self._fs = fs
        self._layout = layout
        self._registry = registry
        self.spans: list[Range] = []
        self._recorded: dict[int, SegmentSealed] = {}
        self._ahead: dict[Range, tuple[str, Segment]] = {}

    def show(self, spans: list[Range], recorded: Mapping[int, SegmentSealed]) -> None:
        """Say which segments there are, and what the unsealed tail records of them, by first sequence number."""
        self.spans = spans
        self._recorded.update(recorded)

    def events(self, reads: Reads, window: Range) -> Iterator[tuple[int, Event]]:
        """Yield the wanted events within a window in order. Raises `LogDamaged`, `UnknownEvent`."""
        for span in self._overlapping(window):
            yield from self.open(span).events(reads, window)

    def records(self, window: Range, tags: Collection[str] | None = None) -> Iterator[Record]:
        """Yield the records within a window in order. Raises `LogDamaged`, `UnknownEvent`."""
        for span in self._overlapping(window):
            yield from self.open(span).records(window, tags)

    def ids(self) -> Iterator[tuple[bytes, int]]:
        """Yield the identity and sequence number of every sealed event. Raises `LogDamaged`."""
        for span in list(self.spans):
            yield from self.open(span).ids()

    def open(self, span: Range) -> Segment:
        """Return a segment whose bytes are those that were sealed. Raises `LogDamaged`."""
        sha256, segment = self._load(span)
        sealed = self.seal_of(span)
        if sha256 != sealed.sha256:
            raise LogDamaged(
                f"{self._layout.segment(span)} is not the file that was sealed (SHA-256 {sha256[:16]}..., recorded "
                f"{sealed.sha256[:16]}...); events {span.first} to {span.last} are affected. {RESTORE}"
            )
        return segment

    def seal_of(self, span: Range) -> SegmentSealed:
        """Return what the log recorded when it sealed a segment. Raises `LogDamaged` if there is no such record."""
        if span.first not in self._recorded:
            later = [other for other in self.spans if other.first == span.last + 1]
            for other in later:
                for _, event in self._load(other)[1].events(_ALL, other):
                    if isinstance(event, SegmentSealed):
                        self._recorded.setdefault(event.first, event)  # the tail's own record is the newer one
        if span.first not in self._recorded:
            raise LogDamaged(f"nothing in the log records the hash of {self._layout.segment(span)}. {RESTORE}")
        return self._recorded[span.first]

    def _overlapping(self, window: Range) -> list[Range]:
        return [span for span in self.spans if span.first <= window.last and span.last >= window.first]

    def _load(self, span: Range) -> tuple[str, Segment]:
        if span not in self._ahead:
            path = self._layout.segment(span)
            data = self._read(path)
            segment = Segment(data, functools.partial(self._vectors, span), name=str(path), registry=self._registry)
            kept = list(self._ahead.items())[-1:]
            self._ahead = {**dict(kept), span: (hashlib.sha256(data).hexdigest(), segment)}
        return self._ahead[span]

    def _vectors(self, span: Range) -> bytes:
        path = self._layout.vectors(span)
        data = self._read(path)
        if hashlib.sha256(data).hexdigest() != self.seal_of(span).vectors_sha256:
            raise LogDamaged(
                f"{path} is not the file that was sealed; vectors of events {span.first} to {span.last} are affected. "
                f"{RESTORE}"
            )
        return data

    def _read(self, path: Path) -> bytes:
        try:
            return self._fs.read(path)
        except FileNotFoundError as error:
            raise LogDamaged(f"{path} is missing. {RESTORE}") from error
