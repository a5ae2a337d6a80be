"""The unsealed end of a log as a reader sees it: whole frames that no power cut can take back.

Bytes after the last whole frame may be a write in progress. They are damage only if whole frames follow, or if HEAD or
the watermark says that there was more.
"""

from mage_es.events import wal
from mage_es.events.disk.documents import RESTORE, Head
from mage_es.events.disk.filesystem import FileSystem
from mage_es.events.disk.layout import Layout, Listing
from mage_es.events.disk.lock import watermark
from mage_es.events.errors import LogDamaged
from mage_es.events.facts import SegmentSealed
from mage_es.events.log.recovery import (
    read_head,
    require_bound,
    require_mark,
    require_newest,
    require_tail,
    require_torn,
    sealed_chain,
)
from mage_es.events.segments.sealed import seals_in

# How many times a seal may overtake a listing before something else must be wrong.
_ATTEMPTS = 100


class Tail:
    """The frames after the sealed part. `refresh` reads only what was appended since."""

    def __init__(self, fs: FileSystem, layout: Layout, start: bytes) -> None:
        self._fs = fs
        self._layout = layout
        self._start = start
        self._files: dict[int, list[wal.Frame]] = {}
        self.listing = Listing([], [])
        self.head = Head(0, start.hex())
        self.frames: list[wal.Frame] = []
        self.recorded: dict[int, SegmentSealed] = {}

    def refresh(self) -> None:
        for _ in range(_ATTEMPTS):
            # Both bounds before the files: read afterwards, they could promise events that were appended since.
            bound = read_head(self._fs, self._layout)
            mark = watermark(self._fs, self._layout.lock)
            try:
                listing, files, head = self._read()
            # Sealed and removed since it was listed: now its segment exists.
            except FileNotFoundError:
                continue
            require_bound(self._layout, bound, head, files)
            require_mark(self._layout, mark, head)
            self._take(listing, files, head, max(bound.seq, mark))
            return
        raise LogDamaged(f"{self._layout.wals} lists files that cannot be opened. {RESTORE}")

    def _read(self) -> tuple[Listing, dict[int, list[wal.Frame]], Head]:
        listing = self._layout.listing(self._fs)
        if listing.segments and listing.segments[-1].first in listing.wals:
            # Being sealed: the segment may still be checked and renamed, so the older file counts.
            listing = Listing(listing.segments[:-1], listing.wals)
        require_tail(self._layout, listing)
        chain = sealed_chain(self._fs, self._layout, listing, self._start)
        head, files = Head(listing.sealed, chain.hex()), {}
        for first in listing.tail:
            if first != head.seq + 1:
                raise LogDamaged(f"{self._layout.wal(first)} does not follow event {head.seq}. {RESTORE}")
            files[first] = self._read_on(first, bytes.fromhex(head.chain), is_last=first == listing.tail[-1])
            if files[first]:
                head = Head(files[first][-1].last, files[first][-1].chain.hex())
        return listing, files, head

    def _read_on(self, first: int, chain: bytes, *, is_last: bool) -> list[wal.Frame]:
        """Return the frames of a file, reading only what follows the known ones."""
        known = self._files.get(first, [])
        done = known[-1].offset + known[-1].size if known else 0
        # Appended only, so the frames known so far need not be read again.
        data = self._fs.read(self._layout.wal(first), done)
        expected, previous = (known[-1].last + 1, known[-1].chain) if known else (first, chain)
        frames, broken = wal.scan(data, first=expected, previous=previous)
        if broken is not None:
            require_torn(self._layout, first, data, broken, is_last=is_last)
        return known + [frame._replace(offset=frame.offset + done) for frame in frames]

    def _take(self, listing: Listing, files: dict[int, list[wal.Frame]], head: Head, synced: int) -> None:
        frames = [frame for first in listing.tail for frame in files[first]]
        self.recorded.update(seals_in(frame for frame in frames if frame.last > self.head.seq))
        # Hash the newest segment once, not at every refresh.
        if listing.segments[-1:] != self.listing.segments[-1:]:
            require_newest(self._fs, self._layout, listing, self.recorded)
        self._files, self.listing = files, listing
        # The last frame may be written but not synced: withhold it until something vouches for it.
        if frames and frames[-1].last > synced:
            last = frames.pop()
            head = Head(last.first - 1, last.previous.hex())
        self.frames, self.head = frames, head
