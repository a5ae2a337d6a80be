"""Restoring a log from its backup: every object is compared with its name, and the whole log is verified."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mage_es.events import wal
from mage_es.events.care.backup import FORMAT, Held, encoded, frames_of, held, newest_head, segment_name, tail_name
from mage_es.events.care.heads import restore_heads
from mage_es.events.care.questions import restore_questions, verify_questions
from mage_es.events.care.verify import verify_log
from mage_es.events.disk.documents import Head, HeadNote, pack
from mage_es.events.disk.filesystem import FileSystem, write_new
from mage_es.events.disk.layout import Layout, Range
from mage_es.events.disk.objects import ObjectSource
from mage_es.events.errors import LogDamaged, PrerequisiteError
from mage_es.events.facts import Vocabulary
from mage_es.events.segments.sealed import seals_in


def restore(
    objects: ObjectSource, path: Path, *, at: str, fs: FileSystem, vocabulary: Vocabulary | None = None
) -> Head:
    """Build the log that the newest complete backup under the prefix `at` holds, in the new folder `path`.

    Raises `LogDamaged` if an object is missing or damaged; then the folder is useless. Raises `PrerequisiteError`.
    """
    return _Restoration(objects, path, at, fs, vocabulary).run()


class _Restoration:
    def __init__(
        self, objects: ObjectSource, path: Path, at: str, fs: FileSystem, vocabulary: Vocabulary | None
    ) -> None:
        self._vocabulary = vocabulary
        self._objects = objects
        self._layout = Layout(path)
        self._at = at
        self._fs = fs

    def run(self) -> Head:
        found = held(self._objects, at=self._at)
        head = newest_head(self._objects, found, at=self._at)
        if not head.seq:
            raise PrerequisiteError(f"{self._objects.place} holds no complete backup: make one with `mage-es backup`.")
        layout = self._layout
        for folder in (layout.path, layout.wals, layout.segments, layout.quarantine):
            self._fs.make_folder(folder)
        spans = self._spans(found, head)
        frames = self._frames(found, spans[-1].last if spans else 0, head)
        # Backed up in the middle of a seal: its frames are in the backup too, and count.
        if spans and spans[-1].first not in seals_in(frames):
            spans.pop()
            frames = self._frames(found, spans[-1].last if spans else 0, head)
        for span in spans:
            self._restore_segment(span, found)
        restore_questions(self._fs, layout, self._objects, at=self._at)
        restore_heads(self._fs, layout, self._objects, at=self._at)
        write_new(self._fs, layout.wal(frames[0].first), b"".join(map(encoded, frames)))
        write_new(self._fs, layout.head, pack(head))
        # FORMAT last: until then the folder is not a log, and a broken restore cannot be mistaken for one.
        write_new(self._fs, layout.format, self._read(FORMAT))
        return self._verified(head)

    def _spans(self, found: Held, head: HeadNote) -> list[Range]:
        # Objects of a backup that was interrupted may lie beyond the head; its head was never written.
        by_first = {span.first: span for span in found.segments if span.last < head.seq}
        spans: list[Range] = []
        # Only a run without gaps from the first event; verification of the whole comes at the end.
        while span := by_first.get(spans[-1].last + 1 if spans else 1):
            spans.append(span)
        return spans

    def _restore_segment(self, span: Range, found: Held) -> None:
        if span in found.vectors:
            data = self._checked(segment_name(span, found.vectors[span], vectors=True), found.vectors[span])
            write_new(self._fs, self._layout.vectors(span), data)
        data = self._checked(segment_name(span, found.segments[span]), found.segments[span])
        write_new(self._fs, self._layout.segment(span), data)

    def _frames(self, found: Held, sealed: int, head: HeadNote) -> list[wal.Frame]:
        all_frames: list[wal.Frame] = []
        reached = Head(sealed, "")
        while reached.seq < head.seq:
            first = reached.seq + 1
            if first not in found.tails:
                raise LogDamaged(
                    f"{self._objects.place} reaches event {head.seq}, but the objects with event {first} and those "
                    "after it are missing. Use another backup."
                )
            name = self._at + tail_name(first)
            frames = frames_of(self._objects, name)
            if frames[0].first != first or (reached.chain and frames[0].previous.hex() != reached.chain):
                raise LogDamaged(f"{self._objects.place}/{name} does not continue the log. Use another backup.")
            reached = Head(frames[-1].last, frames[-1].chain.hex())
            all_frames += frames
        if reached != (head.seq, head.chain):
            raise LogDamaged(f"{self._objects.place} does not end with the event that its head names. Use another.")
        return all_frames

    def _verified(self, head: HeadNote) -> Head:
        # The names hold eight digits of a hash; the chain decides.
        verdict = verify_log(self._layout.path, self._fs, vocabulary=self._vocabulary)
        found = [f"{f.file.name}, events {f.first} to {f.last}: {f.problem}" for f in verdict.findings]
        questions = verify_questions(self._layout.path, self._fs, vocabulary=self._vocabulary)
        if problems := "; ".join(found or questions.problems):
            raise LogDamaged(f"what {self._objects.place} holds is not a whole log: {problems}. Use another backup.")
        return verdict.head

    def _checked(self, name: str, digits: str) -> bytes:
        data = self._read(name)
        # The digits in the name are part of the hash that the log recorded when it sealed the segment.
        if not hashlib.sha256(data).hexdigest().startswith(digits):
            raise LogDamaged(f"{self._objects.place}/{self._at}{name} is damaged (its hash differs). Use another one.")
        return data

    def _read(self, name: str) -> bytes:
        try:
            return self._objects.read(self._at + name)
        except FileNotFoundError as error:
            raise LogDamaged(f"{self._objects.place}/{self._at}{name} is missing. Use another backup.") from error
