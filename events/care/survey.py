"""Which part of a damaged log is intact: the longest prefix that its hashes vouch for, and everything outside it.

Rules
    - The prefix consists of segments that are unchanged since they were sealed, followed by frames that continue the
      chain. It ends before the first missing or damaged event, even if later events are sound.
    - Nothing is changed here. Two things do not count as damage, because opening the log fixes them: an unfinished
      append at the end, and a damaged segment whose write-ahead file still exists.
"""

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from mage_es.events import wal
from mage_es.events.care.chains import witness
from mage_es.events.care.questions import damaged_golds
from mage_es.events.disk.documents import Format, Head, HeadNote
from mage_es.events.disk.filesystem import FileSystem
from mage_es.events.disk.layout import Layout, Listing, Range
from mage_es.events.disk.lock import watermark
from mage_es.events.errors import LogDamaged, LogError, UnknownEvent
from mage_es.events.facts import Record, SegmentSealed, Vocabulary
from mage_es.events.log.recovery import read_format, read_head, require_bound
from mage_es.events.segments.sealed import SealedEvents, seals_in
from mage_es.events.segments.sealing import is_sealed_as
from mage_es.events.wal.bodies import FrameReader


class Scrap(NamedTuple):
    """Bytes that are not part of the whole prefix: a file from `offset` on."""

    file: Path
    offset: int
    data: bytes


class Survey(NamedTuple):
    """What is left of a log.

    `head` ends the whole prefix; `problems` says why the log cannot be opened as it is, and is empty if it can. `lost`
    are the events that were recorded after it: `Range(0, 0)` for none, with 0 as the last if that is unknown.
    `last_wal` is the write-ahead file to continue, of which `kept` is whole. `unrecorded` is the newest segment's hash
    if the prefix does not record it. `reached` is the last iteration named in a lost event that can still be read; -1
    for none.
    """

    about: Format
    head: Head
    problems: tuple[str, ...]
    lost: Range
    scraps: tuple[Scrap, ...]
    last_wal: int
    kept: bytes
    unrecorded: SegmentSealed | None
    reached: int


def survey(fs: FileSystem, layout: Layout, vocabulary: Vocabulary) -> Survey:
    # FORMAT must be whole: without it no frame can be checked.
    return _Surveyor(fs, layout, vocabulary).run()


class _Surveyor:
    def __init__(self, fs: FileSystem, layout: Layout, vocabulary: Vocabulary) -> None:
        self._fs = fs
        self._layout = layout
        self._vocabulary = vocabulary
        self._about, start = read_format(fs, layout)
        self._head = Head(0, start.hex())
        self._problems: list[str] = []
        self._scraps: list[Scrap] = []
        self._known = 0  # the last event that anything mentions
        self._reached = -1
        self._is_cut = False  # whether there was more, even if nothing shows how much
        self._tails: dict[int, list[wal.Frame]] = {}
        self._sealed_again: list[Range] = []  # segments that opening rebuilds
        self._leftover: set[int] = set()  # write-ahead files whose segment is whole

    def run(self) -> Survey:
        # The files as they are, gaps and overlaps included: a listing that insists on order would raise here.
        listing = self._layout.found(self._fs)
        contents = {first: self._fs.read(self._layout.wal(first)) for first in listing.wals}
        sealed = self._sealed(listing, contents)
        kept = self._keep_segments(sealed)
        torn = self._keep_frames(contents)
        self._drop_segments(sealed, kept)
        self._drop_files(contents, kept)
        unrecorded = self._unrecorded(sealed, kept)
        self._check_bound(self._bound())
        if self._head.seq < self._known:
            self._problems.append(f"the log is whole up to event {self._head.seq}, but it went on to {self._known}")
        if not self._tails:
            self._is_cut = True
            if all(scrap.file == self._layout.head for scrap in self._scraps):
                self._problems.append(f"{self._layout.wal(self._head.seq + 1).name} is missing")
        for file in damaged_golds(self._fs, self._layout):
            self._drop(file, follows=True)
        # A torn tail alone is not damage; next to damage it has to go too.
        if torn and self._problems:
            self._scraps.append(torn)
        last = max(self._tails, default=self._head.seq + 1)
        for span in self._sealed_again:
            # Its file will also hold the record of the repair, and so more than was sealed.
            if self._problems and span.first == last:
                self._scrap(self._layout.segment(span))
                self._scrap_vectors(span)
        return Survey(
            about=self._about,
            head=self._head,
            problems=tuple(self._problems),
            lost=self._lost(),
            scraps=tuple(self._scraps),
            last_wal=last,
            kept=contents[last][: _size(self._tails[last])] if last in self._tails else b"",
            unrecorded=unrecorded,
            reached=self._reached,
        )

    def _sealed(self, listing: Listing, contents: dict[int, bytes]) -> SealedEvents:
        frames = (wal.scan(data, first=first)[0] for first, data in contents.items())
        sealed = SealedEvents(self._fs, self._layout, self._vocabulary)
        sealed.show(listing.segments, seals_in(chain.from_iterable(frames)))
        witness(self._fs, self._layout, sealed, self._vocabulary)
        return sealed

    def _keep_segments(self, sealed: SealedEvents) -> list[Range]:
        kept = []
        for span in sealed.spans:
            if span.first == self._head.seq + 1 and self._is_whole(sealed, span):
                kept.append(span)
                self._head = Head(span.last, sealed.seal_of(span).chain)
        return kept

    def _is_whole(self, sealed: SealedEvents, span: Range) -> bool:
        try:
            whole, about = is_sealed_as(self._fs, self._layout, sealed.seal_of(span)), sealed.open(span).about
        except LogError:
            return False
        # A whole segment of another log, copied here by mistake, is not part of this one.
        ours = (about.log_id, about.run) == (self._about.log_id, self._about.run)
        return whole and ours and (about.first, about.last, about.previous) == (*span, self._head.chain)

    def _keep_frames(self, contents: dict[int, bytes]) -> Scrap | None:
        """Follow the frames that continue the prefix; return the unfinished append at their end, if any."""
        while (first := self._head.seq + 1) in contents and first not in self._tails:
            data = contents[first]
            frames, broken = wal.scan(data, first=first, previous=bytes.fromhex(self._head.chain))
            self._tails[first] = frames
            if frames:
                self._head = Head(frames[-1].last, frames[-1].chain.hex())
            if broken is None:
                continue
            path = self._layout.wal(first)
            _require_readable(path, data, broken)
            scrap = Scrap(path, broken.offset, data[broken.offset :])
            after = wal.frame_after(data, broken.offset)
            # The same rule as in recovery: only the end of the last file can be an unfinished append.
            if broken.kind == "torn" and after is None and first == max(contents):
                return scrap
            self._scraps.append(scrap)
            self._problems.append(f"{path.name} is damaged at byte {broken.offset} of {len(data)}: {broken.problem}")
            self._note_frames(data, broken.offset)
            self._is_cut = True
            break
        return None

    def _drop_segments(self, sealed: SealedEvents, kept: list[Range]) -> None:
        for span in sealed.spans:
            frames = self._tails.get(span.first, [])
            if span in kept:
                continue
            # Sealed again from its frames when the log is opened.
            if frames and frames[-1].last == span.last:
                self._sealed_again.append(span)
                continue
            self._drop(self._layout.segment(span), follows=span.first == self._head.seq + 1)
            self._scrap_vectors(span)
            self._known = max(self._known, span.last)
            with suppress(LogError):
                self._note(sealed.open(span).records(span))

    def _drop_files(self, contents: dict[int, bytes], kept: list[Range]) -> None:
        ends = {span.first: span.last for span in kept}
        for first, data in contents.items():
            frames = wal.scan(data, first=first)[0]
            # The seal was done and only the removal is missing; opening the log removes it.
            is_leftover = first in ends and bool(frames) and frames[-1].last == ends[first]
            if is_leftover and _size(frames) == len(data):
                self._leftover.add(first)
            elif first not in self._tails:
                self._drop(self._layout.wal(first), follows=first in ends)
                self._note_frames(data, -1)

    def _drop(self, path: Path, *, follows: bool) -> None:
        what = "is not what was written" if follows else "comes after events that are missing or damaged"
        self._problems.append(f"{path.name} {what}")
        self._scrap(path)

    def _scrap_vectors(self, span: Range) -> None:
        if self._fs.exists(self._layout.vectors(span)):
            self._scrap(self._layout.vectors(span))

    def _scrap(self, path: Path) -> None:
        self._scraps.append(Scrap(path, 0, self._fs.read(path)))

    def _note_frames(self, data: bytes, offset: int) -> None:
        while (frame := wal.frame_after(data, offset)) is not None:
            self._known, offset = max(self._known, frame.last), frame.offset
            with suppress(LogError):
                self._note(FrameReader(self._vocabulary).records(frame, self._about.run))

    def _note(self, records: Iterable[Record]) -> None:
        self._reached = max(self._reached, *(record.iteration for record in records))

    def _unrecorded(self, sealed: SealedEvents, kept: list[Range]) -> SegmentSealed | None:
        # Opening the log records it again if its write-ahead file is there and stays.
        if not kept or kept[-1].first in self._leftover:
            return None
        if kept[-1].first in seals_in(chain.from_iterable(self._tails.values())):
            return None
        self._problems.append(f"nothing records the hash of {self._layout.segment(kept[-1]).name} any more")
        return sealed.seal_of(kept[-1])

    def _bound(self) -> HeadNote:
        self._known = max(self._known, watermark(self._fs, self._layout.lock))
        try:
            bound = read_head(self._fs, self._layout)
        except LogDamaged:
            self._problems.append("HEAD is damaged")
            self._scrap(self._layout.head)
            return HeadNote(seq=0, chain="")
        self._known = max(self._known, bound.seq)
        return bound

    def _check_bound(self, bound: HeadNote) -> None:
        # Events are missing anyway; their chain cannot be compared.
        if bound.seq > self._head.seq:
            return
        try:
            require_bound(self._layout, bound, self._head, self._tails)
        except LogDamaged:
            self._problems.append(f"HEAD names another chain at event {bound.seq} than the log has")
            self._scrap(self._layout.head)

    def _lost(self) -> Range:
        if self._known > self._head.seq:
            return Range(self._head.seq + 1, self._known)
        return Range(self._head.seq + 1, 0) if self._is_cut else Range(0, 0)


def _size(frames: list[wal.Frame]) -> int:
    return frames[-1].offset + frames[-1].size if frames else 0


def _require_readable(path: Path, data: bytes, broken: wal.Broken) -> None:
    """Raise `UnknownEvent` for a frame that is whole but in a form that this release does not know."""
    found = wal.decode(data, broken.offset)
    if isinstance(found, wal.Broken) and found.kind == "alien":
        raise UnknownEvent(f"{path} is not damaged at byte {broken.offset}: {found.problem} Use a newer release.")
