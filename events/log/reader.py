"""Reading a log: any number of readers, without a lock and without writing anything, even while a writer is at work.

A reader shows a fixed prefix of the log, up to its `head`, until `refresh` is called. If the log continues another,
reading without a start begins with the events taken from it (past.py), which have numbers below 1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from mage_es.events.disk.documents import RESTORE, Head, Past
from mage_es.events.disk.filesystem import FileSystem, LocalFileSystem
from mage_es.events.disk.keys import keys_of
from mage_es.events.disk.layout import Layout, Range
from mage_es.events.errors import LogDamaged, PrerequisiteError, UnknownEvent
from mage_es.events.facts import Event, Record, Vocabulary, tag_of
from mage_es.events.log import markers
from mage_es.events.log.past import link
from mage_es.events.log.recovery import read_format
from mage_es.events.log.tail import Tail
from mage_es.events.segments.batches import Batch, Batches, Reads, batches_of
from mage_es.events.segments.questions import golds_of, texts_of
from mage_es.events.segments.sealed import SealedEvents
from mage_es.events.wal.bodies import FrameReader
from mage_es.events.wal.frames import Frame

_FIRST = -(1 << 62)  # below the number of every event, also of those in the past of the past
E = TypeVar("E", bound=Event)
Found = TypeVar("Found")


class LogReader:
    """A view of the log in a folder. Raises `UsageError` (not a log), `LogDamaged`, `PrerequisiteError` (no access)."""

    def __init__(
        self, path: Path, fs: FileSystem | None = None, *, vocabulary: Vocabulary | None = None, opened: bool = True
    ) -> None:
        """Subjects' texts are decrypted if the run has their keys; without `opened`, they are read as recorded."""
        fs, layout = fs or LocalFileSystem(), Layout(path)
        self.vocabulary = vocabulary or Vocabulary.default
        self.keys = keys_of(path) if opened else None
        try:
            about, start = read_format(fs, layout)
            self.run, self.log_id, self.goes_on_from = about.run, about.log_id, about.past
            self._fs, self._layout = fs, layout
            self._tail = Tail(fs, layout, start)
            self._sealed = SealedEvents(fs, layout, self.vocabulary)
            self._rows = FrameReader(self.vocabulary)
            self.refresh()
        except PermissionError as error:
            raise PrerequisiteError(f"cannot read the log in {path}: {error}. Check its permissions.") from error

    @property
    def head(self) -> Head:
        return self._tail.head

    def refresh(self) -> None:
        """Read what has become durable since the last refresh. Raises `LogDamaged`."""
        self._tail.refresh()
        self._sealed.show(self._tail.listing.segments, self._tail.recorded)

    @cached_property
    def past(self) -> PastEvents | None:
        """The events that the log took from the one that it continues, if any. Raises `LogDamaged`."""
        if (about := self.goes_on_from) is None:
            return None
        if not self._fs.exists(self._layout.past / "FORMAT"):
            raise LogDamaged(f"{self._layout.past} is missing, the log that {self.run} continues. {RESTORE}")
        reader = LogReader(self._layout.past, self._fs, vocabulary=self.vocabulary)
        if reader.head != about.head:
            raise LogDamaged(f"{self._layout.past} is not the log that {self.run} continues. {RESTORE}")
        return PastEvents(reader, about)

    def link(self, target: Path) -> None:
        """Make the folder `target` the same log as this reader shows; sealed files are hard-linked, not copied.

        Raises `LogDamaged`, and `PrerequisiteError` if the disk refuses.
        """
        try:
            if self.past:
                self.past.reader.link(Layout(target).past)
            link(self._fs, self._layout, Layout(target), self._tail.listing, self._tail.frames)
        except OSError as error:
            raise PrerequisiteError(f"cannot continue from the log in {self._layout.path}: {error}.") from error

    def questions(self) -> tuple[list[Any], list[Any] | None]:
        """Return the stored questions, and their gold answers unless this copy has none. Raises `LogDamaged`."""
        types = self.vocabulary.questions
        stored = next(self.of(types.stored, since=1), None) if types else None
        if types is None or stored is None:
            return [], None
        texts = texts_of(self._fs, self._layout, stored, types.text)
        return self._open((texts, golds_of(self._fs, self._layout, stored, types.gold)))

    def _open(self, value: Found) -> Found:
        return self.keys.opened(value) if self.keys else value

    def records(
        self, types: Collection[type[Event]] | None = None, *, since: int | None = None, until: int | None = None
    ) -> Iterator[Record]:
        """Yield the records of some types, or all, from `since` to `until` (both included), in order. Without `since`,
        events that the log took from another one come first.

        Raises `LogDamaged`, and `UnknownEvent` for a record that this release cannot read.
        """
        tags = None if types is None else {tag_of(cls) for cls in types}
        window, frames = self._window(since, until), self._tail.frames
        if past := self._before(window):
            yield from past.records(tags, window)
        sealed = self._sealed.records(window, tags)
        yield from map(self.keys.opened, sealed) if self.keys else sealed
        for frame in frames:
            if frame.first <= window.last and frame.last >= window.first:
                for record in self._rows.records(frame, self.run, tags):
                    if window.first <= record.seq <= window.last:
                        yield self._open(record)

    def of(self, *types: type[E], since: int | None = None, until: int | None = None) -> Iterator[E]:
        """Yield the events of these types in order, typed accordingly. Raises what `events` raises."""
        return (event for _, event in self.numbered(*types, since=since, until=until))

    def numbered(self, *types: type[E], since: int | None = None, until: int | None = None) -> Iterator[tuple[int, E]]:
        """Yield the same events, each after its sequence number."""
        reads: Reads = {cls: cls.__struct_fields__ for cls in types}
        return cast(Iterator[tuple[int, E]], self.events(reads, since=since, until=until))

    def events(
        self, reads: Reads, *, since: int | None = None, until: int | None = None
    ) -> Iterator[tuple[int, Event]]:
        """Yield the events of the types in `reads` with their sequence numbers, in order.

        Of sealed events only the fields named in `reads` are read; the others are None. Raises `LogDamaged`, and
        `UnknownEvent` if a type in `reads` was recorded in a version that this release cannot read.
        """
        window, frames = self._window(since, until), self._tail.frames
        found = chain(self._sealed.events(reads, window), self._unsealed(frames, reads, window))
        own = map(self.keys.opened, found) if self.keys else found
        past = self._before(window)
        return chain(past.events(reads, window), own) if past else own

    def batches(
        self,
        reads: Reads,
        *,
        since: int | None = None,
        until: int | None = None,
        newest_first: bool = False,
        headers: Sequence[str] = (),
    ) -> Iterator[Batches]:
        """Yield the same events stretch by stretch, those of one type together.

        Every event of a stretch comes before every event of the next; with `newest_first` stretches come in any order,
        which is quicker in a log that has not been read yet. With `headers` the log's own events of every type are
        included, without fields if their type is not in `reads`, and each batch has these columns of the header:
        `causation_seq`, `event_id`. Raises what `events` raises, with `headers` also for a type that is not in `reads`.
        """
        window, frames = self._window(since, until), self._tail.frames
        if past := self._before(window):
            yield from past.batches(reads, window)
        for batches in self._sealed.batches(reads, window, newest_first=newest_first, headers=headers):
            yield {cls: self._opened(cls, batch) for cls, batch in batches.items()} if self.keys else batches
        if headers:
            yield from self._recorded(reads, window, headers)
            return
        # The tail is small, at most one file: grouping it by type in memory is cheap.
        unsealed = self._open(list(self._unsealed(frames, reads, window)))
        by_type = {cls: [(seq, event) for seq, event in unsealed if type(event) is cls] for cls in reads}
        yield {
            cls: Batch.of(cls, [seq for seq, _ in pairs], [event for _, event in pairs], reads[cls])
            for cls, pairs in by_type.items()
            if pairs
        }

    def _opened(self, cls: type[Event], batch: Batch) -> Batch:
        return Batch.of(cls, batch.seqs, self._open(batch.events), tuple(batch.columns), batch.headers)

    def _recorded(self, reads: Reads, window: Range, headers: Sequence[str]) -> Iterator[Batches]:
        """Yield the unsealed events of every type with columns of the header, up to one that cannot be read."""
        frames = [frame for frame in self._tail.frames if frame.first <= window.last and frame.last >= window.first]
        found, unknown = list[Record](), None
        try:
            for record in chain.from_iterable(self._rows.records(frame, self.run) for frame in frames):
                if window.first <= record.seq <= window.last:
                    found.append(record)
        except UnknownEvent as error:
            unknown = error
        yield batches_of(self._open(found), reads, headers)
        if unknown:
            raise unknown

    def last(self, cls: type[Event], *, since: int | None = None, until: int | None = None) -> int:
        """Return the sequence number of the last of the log's own events of a type from `since` to `until`, or 0."""
        window, frames = self._window(since, until), self._tail.frames
        unsealed = [seq for seq, _ in self._unsealed(frames, {cls: ()}, window)]
        # The tail comes after every segment, so a hit there saves opening any.
        return unsealed[-1] if unsealed else self._sealed.last(cls, window)

    def _markers(self, marks: Reads) -> dict[markers.Marker, int]:
        found = (
            (seq, markers.marker_of(event, marks))
            for batches in self.batches(marks, newest_first=True)
            for batch in batches.values()
            for seq, event in zip(batch.seqs, batch.events, strict=True)
        )
        return {marker: seq for seq, marker in sorted(found, key=itemgetter(0)) if marker is not None}

    def markers(self) -> dict[markers.Marker, int]:
        """Return every marker that the log has, with its sequence number, in order."""
        return self._markers(self.vocabulary.marks)

    def resolve(self, marker: str) -> int:
        """Return the sequence number that a marker means. Raises `UsageError` with near matches if it does not
        exist."""
        # seq:N and latest need no search through the log.
        wanted = markers.parse(marker)
        if wanted.kind == "latest":
            return self.head.seq
        if wanted.kind == "seq" and 1 <= wanted.number <= self.head.seq:
            return wanted.number
        # Iterations are named most, and phases end several times as often.
        is_phase, marks = wanted.kind == "phase", self.vocabulary.marks
        present = self._markers({cls: names for cls, names in marks.items() if len(names) == 1 + is_phase})
        if marker == "start":  # the first end of an iteration: a run that continues another opens with the other's
            wanted = next((each for each in present if each.kind == "iteration"), wanted)
        if wanted not in present:
            raise markers.missing(wanted, self.markers(), run=self.run, last=self.head.seq)
        return present[wanted]

    def _unsealed(self, frames: list[Frame], reads: Reads, window: Range) -> Iterator[tuple[int, Event]]:
        tags = {tag_of(cls) for cls in reads}
        for frame in frames:
            if frame.first <= window.last and frame.last >= window.first:
                for seq, event in self._rows.events(frame, tags):
                    if window.first <= seq <= window.last:
                        yield seq, event

    def _window(self, since: int | None, until: int | None) -> Range:
        return Range(_FIRST if since is None else since, self.head.seq if until is None else min(until, self.head.seq))

    def _before(self, window: Range) -> PastEvents | None:
        return self.past if window.first < 1 else None


class PastEvents:
    """The events that a log takes from the one behind a reader, under the log's own numbers."""

    def __init__(self, reader: LogReader, about: Past) -> None:
        self.reader = reader
        self._about = about
        self._takes = {each.tag: each for each in about.takes}

    def number(self, seq: int) -> int:
        """Return an event's number in its own log."""
        return seq + self._about.seq

    def records(self, tags: set[str] | None, window: Range) -> Iterator[Record]:
        types = {self.reader.vocabulary.types[tag] for tag in self._takes if tags is None or tag in tags}
        by = -self._about.seq
        for record in self.reader.records(types, **self._there(window)) if types else ():
            if self._is_taken(record.event):
                causation = record.causation + by if record.causation else 0
                yield msgspec.structs.replace(
                    record, seq=record.seq + by, commit=record.commit + by, causation=causation
                )

    def events(self, reads: Reads, window: Range) -> Iterator[tuple[int, Event]]:
        for seq, event in self.reader.events(self._taken(reads), **self._there(window)):
            if self._is_taken(event):
                yield seq - self._about.seq, event

    def batches(self, reads: Reads, window: Range) -> Iterator[Batches]:
        since, until = self._there(window).values()
        for batches in self.reader.batches(self._taken(reads), since=since, until=until):
            found = {}
            for cls, batch in batches.items():
                rule = self._takes[tag_of(cls)]
                kept = batch.among(rule.field, rule.among) if rule.field else batch
                if len(kept):
                    found[cls] = kept.moved(-self._about.seq)
            yield found

    def _there(self, window: Range) -> dict[str, int]:
        return {"since": self.number(window.first), "until": self.number(min(window.last, 0))}

    def _taken(self, reads: Reads) -> Reads:
        """Return the types and fields to read: the wanted types that the log takes, with the fields that decide which
        events it takes."""
        found = {}
        for cls, fields in reads.items():
            if rule := self._takes.get(tag_of(cls)):
                found[cls] = fields if rule.field in ("", *fields) else (*fields, rule.field)
        return found

    def _is_taken(self, event: Event) -> bool:
        rule = self._takes[tag_of(event)]
        return not rule.field or getattr(event, rule.field) in rule.among
