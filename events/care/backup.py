"""A backup of a log: objects that are written once, even while the log is being written.

    FORMAT
    seg/<first>-<last>-<sha8>.parquet       sealed segments; <sha8>: the first digits of the file's SHA-256
    seg/<first>-<last>-<sha8>.vec.parquet   their vectors
    questions/<sha256>.parquet              texts of questions
    golds/<sha256>.parquet                  their gold answers, unless they are left out
    heads/<seq>-<root8>-<sha8>.note         signed heads; of a cosigned one, every state
    tail/<first>                            frames of events not sealed yet, from event <first> on
    head/<seq>                              how far a complete backup reaches, with the chain value that vouches for it

Nothing is deleted. Missing or damaged objects are stored again, and no intact object is overwritten. A log is refused
if its events differ from those in the backup, or if it ends earlier: a tail object is named after its first event, so
two histories cannot both use the name. The list of the objects that make up a complete backup is written last
(manifest.py).
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.events import wal
from mage_es.events.care.heads import back_up_heads
from mage_es.events.care.manifest import Item, item_of
from mage_es.events.care.objects import Listed, Objects, ObjectSource, create_once
from mage_es.events.care.questions import back_up_questions
from mage_es.events.disk.documents import RESTORE, Head, HeadNote, pack, unpack
from mage_es.events.disk.filesystem import FileSystem
from mage_es.events.disk.layout import Layout, Range
from mage_es.events.errors import LogDamaged, PrerequisiteError, SequenceConflict
from mage_es.events.facts import Record, Vocabulary
from mage_es.events.log.reader import LogReader
from mage_es.events.log.recovery import read_format
from mage_es.events.log.tail import Tail
from mage_es.events.segments.sealed import SealedEvents
from mage_es.events.wal.bodies import FrameReader

FORMAT = "FORMAT"
_SEGMENT = re.compile(r"seg/(\d{20})-(\d{20})-[0-9a-f]{8}\.parquet")
_NUMBERED = re.compile(r"(tail|head)/(\d{20})")


class Stored(NamedTuple):
    """The result of a backup: how far it reaches, the new objects and bytes, and everything that it consists of."""

    head: Head
    objects: int
    bytes: int
    items: tuple[Item, ...]


class Held(NamedTuple):
    """The parts of a log at a place: the ranges of its segments, its tail objects and its heads."""

    segments: list[Range]
    tails: list[int]
    heads: list[int]


def held(objects: ObjectSource, *, at: str) -> Held:
    """Return what is stored under the prefix `at`."""
    found = Held([], [], [])
    for name in objects.names():
        if not name.startswith(at):
            continue
        if match := _SEGMENT.fullmatch(name, len(at)):
            found.segments.append(Range(int(match[1]), int(match[2])))
        elif match := _NUMBERED.fullmatch(name, len(at)):
            (found.tails if match[1] == "tail" else found.heads).append(int(match[2]))
    return found


def tail_name(first: int) -> str:
    return f"tail/{first:020d}"


def head_name(seq: int) -> str:
    return f"head/{seq:020d}"


def newest_head(objects: ObjectSource, found: Held, *, at: str) -> HeadNote:
    """Return how far the newest complete backup reaches, or event 0. Raises `LogDamaged`."""
    if not found.heads:
        return HeadNote(seq=0, chain="")
    name = at + head_name(found.heads[-1])
    note = unpack(objects.read(name), HeadNote, name=f"{objects.place}/{name}")
    if note.seq != found.heads[-1]:
        raise LogDamaged(f"{objects.place}/{name} is about event {note.seq}: use another backup.")
    return note


def back_up(
    path: Path, objects: Objects, *, at: str, fs: FileSystem, gold: bool = True, vocabulary: Vocabulary | None = None
) -> Stored:
    """Store what is new in the log in the folder `path` under the prefix `at`, with or without `gold` answers.

    Objects already there are compared, by size and MD5 if the place knows it, else by reading them; damaged segments,
    questions and tails are stored again.

    Raises `SequenceConflict` if the place holds another log, or a later or different state of this one; `LogDamaged` if
    the log, or a head of it in the place, is not what was written; `PrerequisiteError` if the log has no event yet or
    the place cannot be used.
    """
    return _Backup(path, objects, at, fs, gold=gold, vocabulary=vocabulary or Vocabulary.default).run()


class _Backup:
    def __init__(
        self, path: Path, objects: Objects, at: str, fs: FileSystem, *, gold: bool, vocabulary: Vocabulary
    ) -> None:
        self._fs = fs
        self._gold = gold
        self._vocabulary = vocabulary
        self._objects = objects
        self._at = at
        self._layout = Layout(path)
        self._about, start = read_format(fs, self._layout)
        self._tail = Tail(fs, self._layout, start)
        self._sealed = SealedEvents(fs, self._layout, vocabulary)
        self._listed: dict[str, Listed] = {}
        self._items: list[Item] = []
        self._new = 0
        self._bytes = 0

    def run(self) -> Stored:
        self._tail.refresh()
        head = self._tail.head
        self._sealed.show(self._tail.listing.segments, self._tail.recorded)
        # The newest segment's hash may not be durable yet, and without a tail nothing vouches for it.
        if not self._tail.frames:
            raise PrerequisiteError(f"{self._layout.path} has nothing to back up at the moment: try again later.")
        # FORMAT names the log: if the place holds another one, this refuses before anything else is stored.
        self._create(FORMAT, self._fs.read(self._layout.format))
        self._listed = self._objects.listed()
        found = held(self._objects, at=self._at)
        before = self._newest_head(found)
        self._require_same_history(found, before)
        # Questions, tail, segments, head: in this order an interruption leaves no head that names a missing object.
        reader = LogReader(self._layout.path, self._fs, vocabulary=self._vocabulary, opened=False)
        back_up_questions(
            reader, self._fs, self._layout, self._objects, at=self._at, store=self._store, gold=self._gold
        )
        self._store_tail(found)
        for span in self._tail.listing.segments:
            self._store_segment(span)
        back_up_heads(self._fs, self._layout, create=self._store)
        self._create(head_name(head.seq), pack(HeadNote(seq=head.seq, chain=head.chain)))
        return Stored(head, self._new, self._bytes, tuple(self._items))

    def _newest_head(self, found: Held) -> HeadNote:
        try:
            return newest_head(self._objects, found, at=self._at)
        except LogDamaged as error:
            name = f"{self._objects.place}/{self._at}{head_name(found.heads[-1])}"
            raise LogDamaged(
                f"{name} is damaged, and nothing was stored. Move that file away and back up again, which stores it "
                "again, or back up to another place."
            ) from error

    def _require_same_history(self, found: Held, before: HeadNote) -> None:
        # A copy of a run that was continued separately has the same log id, so only the events can tell the two apart.
        if before.seq > self._tail.head.seq:
            raise self._conflict(f"reaches event {before.seq}, this log only event {self._tail.head.seq}")
        ours = self._tail.listing.segments
        # The writer decides where a range ends: a range that this log lacks was sealed by a log with another history.
        alien = [span for span in found.segments if span not in ours]
        common = [span for span in ours if span in found.segments]
        if alien:
            raise self._conflict(f"has sealed events {alien[0].first} to {alien[0].last}, which this log does not have")
        ends = {frame.last: frame.chain.hex() for frame in self._tail.frames}
        if ends.get(before.seq, before.chain) != before.chain:
            raise self._conflict(f"has a different event {before.seq} from this log's, or different ones before it")
        # Sealed since the last backup: frames are gone, so compare the records.
        if before.seq not in ends:
            since = common[-1].last + 1 if common else 1
            self._require_same_records(found, since, before.seq)

    def _require_same_records(self, found: Held, since: int, until: int) -> None:
        # The hashes of the segments before are among these records, so what was sealed earlier is compared as well.
        reader = FrameReader(self._vocabulary)
        for first in found.tails:
            if since <= first <= until:
                frames = frames_of(self._objects, self._at, first)
                theirs = [record for frame in frames for record in reader.records(frame, self._about.run)]
                if _bits(theirs) != _bits(self._records(theirs[0].seq, theirs[-1].seq)):
                    raise self._conflict(f"has other events {theirs[0].seq} to {theirs[-1].seq} than this log")

    def _records(self, first: int, last: int) -> Iterator[Record]:
        yield from self._sealed.records(Range(first, last))
        reader = FrameReader(self._vocabulary)
        for frame in self._tail.frames:
            yield from (r for r in reader.records(frame, self._about.run) if first <= r.seq <= last)

    def _conflict(self, what: str) -> SequenceConflict:
        return SequenceConflict(
            f"{self._objects.place} {what}: {self._layout.path} is an older copy, or a copy that went on by itself. "
            "Restore the backup and go on with that, or back this one up to another place."
        )

    def _store_tail(self, found: Held) -> None:
        # An object ends where its write-ahead file ends, so that no segment begins in the middle of one.
        frames = [frame for frame in self._tail.frames if frame.first > self._tail.listing.sealed]
        chains = {frame.last: frame.chain for frame in frames}
        while frames:
            first = frames[0].first
            group = [frame for frame in frames if frame.first < _next_file(frames)]
            if first in found.tails and (stored := self._stored_frames(first)):
                if chains.get(stored[-1].last) != stored[-1].chain:
                    raise self._conflict(f"has other events {first} to {stored[-1].last} than this log")
                group = [frame for frame in frames if frame.first <= stored[-1].last]
            self._store(tail_name(first), b"".join(map(encoded, group)))
            frames = frames[len(group) :]

    def _stored_frames(self, first: int) -> list[wal.Frame]:
        """Return the frames of a tail object, none if it is damaged."""
        try:
            return frames_of(self._objects, self._at, first)
        except LogDamaged:
            return []

    def _store_segment(self, span: Range) -> None:
        sealed, layout = self._sealed.seal_of(span), self._layout
        for path, sha256 in ((layout.vectors(span), sealed.vectors_sha256), (layout.segment(span), sealed.sha256)):
            if sha256:
                data = self._fs.read(path)
                # Compared first, so that a damaged segment does not spread into the backup.
                if hashlib.sha256(data).hexdigest() != sha256:
                    raise LogDamaged(f"{path} is not the file that was sealed, so it is not backed up. {RESTORE}")
                events, _, suffix = path.name.partition(".")
                self._store(f"seg/{events}-{sha256[:8]}.{suffix}", data)

    def _store(self, name: str, data: bytes) -> None:
        """Store an object whose name determines its bytes: one with other bytes there is damaged, and replaced."""
        known = self._listed.get(self._at + name)
        if known is None:
            self._create(name, data)
        else:
            self._items.append(item_of(self._at + name, data))
            if not self._is_whole(name, known, data):
                self._objects.replace(self._at + name, data)
                self._note(data)

    def _is_whole(self, name: str, known: Listed, data: bytes) -> bool:
        if known.md5 == hashlib.md5(data, usedforsecurity=False).hexdigest():
            return known.size == len(data)
        try:
            return known.size == len(data) and self._objects.read(self._at + name) == data
        except LogDamaged:  # something there is not a file
            return False

    def _create(self, name: str, data: bytes) -> None:
        self._items.append(item_of(self._at + name, data))
        if create_once(self._objects, self._at + name, data):
            self._note(data)

    def _note(self, data: bytes) -> None:
        self._new += 1
        self._bytes += len(data)


def frames_of(objects: ObjectSource, at: str, first: int) -> list[wal.Frame]:
    """Return the frames of the tail object that begins with event `first`. Raises `LogDamaged` if it is not whole."""
    name = at + tail_name(first)
    frames, broken = wal.scan(objects.read(name), first=first)
    if broken or not frames:
        problem = f"at byte {broken.offset}: {broken.problem}" if broken else "since it is empty"
        raise LogDamaged(f"{objects.place}/{name} is damaged {problem}. Use another backup.")
    return frames


def _next_file(frames: list[wal.Frame]) -> int:
    return next((frame.first for frame in frames[1:] if frame.offset == 0), frames[-1].last + 1)


def encoded(frame: wal.Frame) -> bytes:
    """Return the bytes of a frame as in a write-ahead file."""
    data, _ = wal.encode(frame.body, first=frame.first, count=frame.events, previous=frame.previous)
    return data


def _bits(records: Iterator[Record] | list[Record]) -> bytes:
    # Not ==, because a NaN is not equal to itself.
    return msgspec.msgpack.encode(list(records))
