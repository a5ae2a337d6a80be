"""What a log has of the one that it goes on from: those of its events that the log takes, numbered from 0 downwards.

Rules
    - The other log lies in past/, whole: its sealed files under a second name each, so that a fork copies nothing, and
      needs the other's folder no longer. It never changes.
    - FORMAT says what is taken, and where the other log ended; and the chain begins with a hash of FORMAT. So a head
      vouches for all of the past as well.
    - The last event taken has at most number 0, and a log's own events begin with 1. If the other log has a past
      itself, its numbers go on downwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from mage_es.events import wal
from mage_es.events.disk.documents import HeadNote, Past, pack
from mage_es.events.disk.filesystem import TEMPORARY, FileSystem, write_new
from mage_es.events.disk.layout import Layout, Listing, Range
from mage_es.events.errors import PrerequisiteError
from mage_es.events.facts import Event, Record, tag_of
from mage_es.events.segments.batches import Batches, Reads

if TYPE_CHECKING:
    from mage_es.events.log.reader import LogReader


class PastEvents:
    """The events that a log takes from the one behind a reader, under the log's own numbers."""

    def __init__(self, reader: LogReader, about: Past) -> None:
        self.reader = reader
        self._about = about
        self._takes = {each.tag: each for each in about.takes}

    def number(self, seq: int) -> int:
        """Return the number that an event has in its own log."""
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
        for batches in self.reader.batches(self._taken(reads), **self._there(window)):
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
        """Return what is to be read: of what is wanted the types that are taken, with the fields that decide."""
        found = {}
        for cls, fields in reads.items():
            if rule := self._takes.get(tag_of(cls)):
                found[cls] = fields if rule.field in ("", *fields) else (*fields, rule.field)
        return found

    def _is_taken(self, event: Event) -> bool:
        rule = self._takes[tag_of(event)]
        return not rule.field or getattr(event, rule.field) in rule.among


def link(fs: FileSystem, layout: Layout, target: Layout, listing: Listing, frames: list[wal.Frame]) -> None:
    """Make `target` the same log, its sealed files and questions as second names of this one's. FORMAT is last: without
    it, after a crash, this is done again. Raises `PrerequisiteError` if nothing vouches for the newest sealed file."""
    if not frames:
        raise PrerequisiteError(f"{layout.path} has nothing to go on from at this moment: try again later.")
    names = {layout.segments: target.segments, layout.questions: target.questions, layout.golds: target.golds}
    sealed = {path.name for span in listing.segments for path in (layout.segment(span), layout.vectors(span))}
    for source, folder in names.items():
        if not fs.exists(source):
            continue
        fs.make_folder(folder)
        for name in fs.names(folder):
            fs.unlink(folder / name)
        for name in fs.names(source):
            if not name.endswith(TEMPORARY) and (name in sealed or source != layout.segments):
                fs.link(source / name, folder / name)
        fs.sync_folder(folder)
    for folder in (target.wals, target.quarantine):
        fs.make_folder(folder)
    for name in fs.names(target.wals):
        fs.unlink(target.wals / name)
    # What is not sealed yet is copied: the other log appends to its file, which is small.
    data, chain = bytearray(), frames[0].previous
    for frame in frames:
        encoded, chain = wal.encode(frame.body, first=frame.first, count=frame.events, previous=chain)
        data += encoded
    write_new(fs, target.wal(frames[0].first), bytes(data))
    write_new(fs, target.head, pack(HeadNote(seq=frames[-1].last, chain=chain.hex())))
    write_new(fs, target.format, fs.read(layout.format))
