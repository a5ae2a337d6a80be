"""All sealed segments of a log as one sequence, each compared with its recorded hash before it is used.

The hash of a segment is recorded in the events that follow it: in the next segment, or for the newest one in the
write-ahead file. So every segment vouches for the one before it, and a reader works back from the newest.
"""

import functools
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import google_crc32c
import pyarrow as pa
from pyarrow.parquet import FileMetaData

from mage_es.events import wal
from mage_es.events.disk.documents import RESTORE
from mage_es.events.disk.filesystem import FileSystem
from mage_es.events.disk.layout import Layout, Range
from mage_es.events.errors import LogDamaged
from mage_es.events.facts import Event, Record, SegmentSealed, Vocabulary, tag_of
from mage_es.events.segments.batches import Batches, Reads
from mage_es.events.segments.reader import Segment, decoded_of
from mage_es.events.wal.bodies import FrameReader

# Segments kept in memory, because retries and neighbouring reads ask for the same ones.
_KEPT = 2

# Both hashes are computed piece by piece, each of this many bytes: the second finds them in the core's cache.
_PIECE = 1 << 18

# How many parsed footers are kept for a second reading of their segments; each takes about 1.5 MiB.
_FOOTERS = 32

# Up to this many bytes of columns, a reading is kept whole rather than done twice.
_NARROW = 16 << 20

_OWN = Vocabulary(())
_ALL: Reads = {SegmentSealed: SegmentSealed.__struct_fields__}


def seals_in(frames: Iterable[wal.Frame]) -> dict[int, SegmentSealed]:
    """Return what unsealed frames record about sealed segments, by first sequence number; the newest record counts."""
    reader = FrameReader(_OWN)
    own = (frame for frame in frames if frame.events == 1)  # the log commits its own records one by one
    events = (event for frame in own for _, event in reader.events(frame, {tag_of(SegmentSealed)}))
    return {event.first: event for event in events if isinstance(event, SegmentSealed)}


class _File(NamedTuple):
    """The bytes of a segment, their CRC32C, and their SHA-256, unless bytes with this CRC32C were verified before."""

    data: bytes
    checksum: int
    sha256: str | None


class SealedEvents:
    """The sealed part of a log. The caller knows the tail and says which segments exist, see `show`."""

    def __init__(self, fs: FileSystem, layout: Layout, vocabulary: Vocabulary) -> None:
        self._fs = fs
        self._layout = layout
        self._vocabulary = vocabulary
        self.spans: list[Range] = []
        self._recorded: dict[int, SegmentSealed] = {}
        self._opened: dict[Range, Segment] = {}
        self._seen: dict[Range, int] = {}
        self._footers: dict[Range, FileMetaData] = {}
        self._held: dict[Range, frozenset[str]] = {}

    def show(self, spans: list[Range], recorded: Mapping[int, SegmentSealed]) -> None:
        """Set which segments exist, and what the unsealed tail records about them, by first sequence number."""
        self.spans = spans
        self._recorded.update(recorded)

    def events(self, reads: Reads, window: Range) -> Iterator[tuple[int, Event]]:
        for span in self._holding(reads, window):
            yield from self.open(span).events(reads, window)

    def batches(
        self, reads: Reads, window: Range, *, newest_first: bool = False, headers: Sequence[str] = ()
    ) -> Iterator[Batches]:
        """Yield the wanted events within a window, one segment after another. Raises `LogDamaged`, `UnknownEvent`."""
        # The order in which hashes are checked: one pass, whatever is read.
        if newest_first:
            yield from (segment.batches(reads, window) for _, segment in self._backwards(self._holding(reads, window)))
            return

        def read(span: Range) -> Batches:
            return self.open(span).batches(reads, window, headers)

        # Hashes are checked from the newest back; if that reads every segment anyway, they are decoded on the way.
        early = self._going_back(reads, window) if not headers else []
        if early:
            yield from reversed(early)
            return
        with ThreadPoolExecutor(max_workers=1) as ahead:
            # pyarrow and hashlib release the GIL, so the next segment loads while the caller folds this one.
            coming: Future[Batches] | None = None
            for span in self._overlapping(window) if headers else self._holding(reads, window):
                current, coming = coming, ahead.submit(read, span)
                if current is not None:
                    yield current.result()
            if coming is not None:
                yield coming.result()

    def _going_back(self, reads: Reads, window: Range) -> list[Batches]:
        # These segments are read for their hashes anyway: keep the batches, unless they are too large to hold at once.
        spans, before = self._overlapping(window), pa.total_allocated_bytes()
        found: list[Batches] = []
        if spans and not self.is_recorded(spans[0]):
            for span, segment in self._backwards(spans):
                found.append(segment.batches(reads, window))
                # Extrapolated from what has been read so far: stop early rather than hold a wide reading in memory.
                share = (spans[-1].last - span.first + 1) / (spans[-1].last - spans[0].first + 1)
                if pa.total_allocated_bytes() - before > _NARROW * share:
                    return []
        return found

    def last(self, cls: type[Event], window: Range) -> int:
        """Return the last event of a type within a window, or 0. Raises `LogDamaged`."""
        for span in reversed(self._holding({cls: ()}, window)):
            found = self.open(span).batches({cls: ()}, window)
            if found:
                return found[cls].seqs[-1]
        return 0

    def records(self, window: Range, tags: Collection[str] | None = None) -> Iterator[Record]:
        for span in self._overlapping(window):
            yield from self.open(span).records(window, tags)

    def open(self, span: Range, file: _File | None = None) -> Segment:
        """Return a segment. Raises `LogDamaged`. `file` is what `_fetch` returned, if that was done in advance."""
        # Retries and neighbouring reads ask for the same segment again and again.
        if span in self._opened:
            return self._opened[span]
        path, sealed = self._layout.segment(span), self.seal_of(span)
        # Hash before parse: Parquet readers trust their input, and a flipped bit can crash them.
        data, checksum, sha256 = file or self._fetch(span)
        if sha256 not in (None, sealed.sha256):
            raise LogDamaged(
                f"{path} is not the file that was sealed (SHA-256 {sha256[:16]}..., recorded "
                f"{sealed.sha256[:16]}...); events {span.first} to {span.last} are affected. {RESTORE}"
            )
        footer = self._footers.pop(span, None) if sha256 is None else None
        vectors = functools.partial(self._vectors, span)
        decoded = decoded_of(sealed.sha256, self._vocabulary)
        segment = Segment(data, vectors, name=str(path), vocabulary=self._vocabulary, footer=footer, decoded=decoded)
        if sha256 is not None:  # going back from the newest: the last ones fetched are the first to be read again
            self._seen[span] = checksum
            self._held[span] = frozenset(run.tag for run in segment.about.runs)
            self._footers = {**dict(list(self._footers.items())[1 - _FOOTERS :]), span: segment.footer}
        self._opened = {**dict(list(self._opened.items())[1 - _KEPT :]), span: segment}
        return segment

    def is_recorded(self, span: Range) -> bool:
        """Return whether the unsealed tail, or what has been read so far, records the hash of a segment."""
        return span.first in self._recorded

    def seal_of(self, span: Range) -> SegmentSealed:
        """Return what the log recorded when it sealed a segment. Raises `LogDamaged` if no sound record of it
        exists."""
        if span.first not in self._recorded:
            # The hash of a segment is in the one after it, so go back from the newest until this one is known.
            pairs = [pair for pair in pairwise(self.spans) if pair[0] >= span]
            for later, segment in self._backwards([b for a, b in pairs if a.first not in self._recorded]):
                seals = (event for _, event in segment.events(_ALL, later))
                found = {event.first: event for event in seals if isinstance(event, SegmentSealed)}
                # A repaired log may record a segment twice; the later record counts.
                self._recorded = found | self._recorded
        if span.first not in self._recorded:
            raise LogDamaged(f"nothing in the log records the hash of {self._layout.segment(span)}. {RESTORE}")
        return self._recorded[span.first]

    def _backwards(self, spans: list[Range]) -> Iterator[tuple[Range, Segment]]:
        # Reading and hashing release the GIL, so the next one is fetched on another thread meanwhile.
        with ThreadPoolExecutor(max_workers=1) as ahead:
            coming: Future[_File] | None = None
            # Newest first, the order in which hashes become known.
            for place in range(len(spans) - 1, -1, -1):
                file = coming.result() if coming is not None else None
                coming = ahead.submit(self._fetch, spans[place - 1]) if place else None
                yield spans[place], self.open(spans[place], file)

    def _fetch(self, span: Range) -> _File:
        data, seen = self._read(self._layout.segment(span)), self._seen.get(span)
        checksum, sha256 = 0, hashlib.sha256()
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            checksum = google_crc32c.extend(checksum, piece)
            # When this reader reads it again, the cheaper CRC32C of the verified bytes will do.
            if seen is None:
                sha256.update(piece)
        if seen not in (None, checksum):
            sha256.update(data)
        return _File(data, checksum, None if seen == checksum else sha256.hexdigest())

    def _overlapping(self, window: Range) -> list[Range]:
        return [span for span in self.spans if span.first <= window.last and span.last >= window.first]

    def _holding(self, reads: Reads, window: Range) -> list[Range]:
        """Return the segments that may hold a wanted event: not those that were verified and have none."""
        wanted = {tag_of(cls) for cls in reads}
        return [
            span
            for span in self._overlapping(window)
            if span not in self._held or not wanted.isdisjoint(self._held[span])
        ]

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
