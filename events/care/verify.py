"""Verification: it compares every byte of a log with what was recorded when it was written, and changes nothing.

The hash of a segment is in the events that follow it, so the head vouches for the whole log: an earlier head, kept
elsewhere, shows whether history was replaced. If that head is replaced too, the change cannot be detected.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from mage_es.events import wal
from mage_es.events.care.chains import HeadSearch, witness
from mage_es.events.disk.documents import Format, Head, HeadNote
from mage_es.events.disk.filesystem import FileSystem, LocalFileSystem
from mage_es.events.disk.layout import Layout, Listing, Range
from mage_es.events.disk.lock import watermark
from mage_es.events.errors import LogError, UsageError
from mage_es.events.facts import Record, SegmentSealed, Vocabulary, event_id
from mage_es.events.log.recovery import read_format, read_head
from mage_es.events.segments.schema import Description
from mage_es.events.segments.sealed import SealedEvents, seals_in
from mage_es.events.segments.sealing import made_of
from mage_es.events.wal.bodies import FrameReader

_ATTEMPTS = 100
_NOTHING = Range(0, 0)


class Finding(NamedTuple):
    """Something that differs from what was written: the file, the affected events, and the problem.

    `last` is 0 if everything from `first` on is affected; both are 0 if no event is.
    """

    file: Path
    first: int
    last: int
    problem: str


class LogVerdict(NamedTuple):
    """The result: how far the log reaches, how many files were checked, and what is wrong with them.

    `search` is the search for an earlier head, if one was given. `note` describes an append at the end that a kill has
    interrupted: it was never acknowledged, so nothing is wrong, and opening the log moves it to quarantine/.
    """

    head: Head
    files: int
    findings: list[Finding]
    search: HeadSearch | None
    note: str = ""

    @property
    def is_sound(self) -> bool:
        return not self.findings


def verify_log(
    path: Path, fs: FileSystem | None = None, *, head: str | None = None, vocabulary: Vocabulary | None = None
) -> LogVerdict:
    """Check all hashes, identities and the chain, and look for an earlier `head`. Raises `UsageError`."""
    search = None if head is None else HeadSearch(head)
    return _Verification(fs or LocalFileSystem(), Layout(path), search, vocabulary or Vocabulary.default).run()


class _Verification:
    def __init__(self, fs: FileSystem, layout: Layout, search: HeadSearch | None, vocabulary: Vocabulary) -> None:
        self._fs = fs
        self._layout = layout
        self._search = search
        self._vocabulary = vocabulary
        self._sealed = SealedEvents(fs, layout, vocabulary)
        self._files = 0
        self._findings: list[Finding] = []
        self._note = ""
        self._about: Format | None = None
        self._recorded: dict[int, SegmentSealed] = {}  # what the write-ahead files record about segments

    def run(self) -> LogVerdict:
        if not self._fs.exists(self._layout.format) and not self._layout.events(self._fs):
            read_format(self._fs, self._layout)
        head = self._format()
        # Bounds before files, as in a reader: a writer may be at work.
        bound, mark = self._bound(), watermark(self._fs, self._layout.lock)
        listing, contents = self._list()
        last = max(contents, default=0)
        frames = {first: self._frames(first, data, is_last=first == last) for first, data in contents.items()}
        # Segments whose record was lost with a damaged file may still vouch for themselves.
        with self._finding(self._layout.wals):
            self._recorded = seals_in(chain.from_iterable(frames.values()))
            self._sealed.show(listing.segments, self._recorded)
            witness(self._fs, self._layout, self._sealed, self._vocabulary)
        if self._search:
            self._search.among([head, *(Head(f.last, f.chain.hex()) for f in chain.from_iterable(frames.values()))])
        for span in listing.segments:
            # Each check returns the head after its file, known as far as possible, so that one gap is reported once.
            head = self._check_segment(span, head, frames.get(span.first))
        before: Path | None = None
        for first in listing.tail:
            head = self._check_wal(first, frames[first], head, before)
            before = self._layout.wal(first)
        if not listing.tail:
            self._add(self._layout.wal(head.seq + 1), "missing, and with it every later event", Range(head.seq + 1, 0))
        elif {finding.file for finding in self._findings} <= {self._layout.wal(listing.tail[-1])}:
            self._check_record(listing)
        self._check_reach(max(bound.seq if bound else 0, mark), head)
        self._check_bound(bound, head, frames)
        return LogVerdict(head, self._files, self._findings, self._search, "" if self._findings else self._note)

    def _format(self) -> Head:
        self._files += 1
        with self._finding(self._layout.format):
            self._about, start = read_format(self._fs, self._layout)
            return Head(0, start.hex())
        return Head(0, "")

    def _bound(self) -> HeadNote | None:
        if not self._fs.exists(self._layout.head):
            self._add(self._layout.head, "missing, so nothing says how far the log reached")
            return None
        self._files += 1
        with self._finding(self._layout.head):
            return read_head(self._fs, self._layout)
        return None

    def _list(self) -> tuple[Listing, dict[int, bytes]]:
        """Return the listing and the contents of its write-ahead files, which a writer may remove at any time."""
        for _ in range(_ATTEMPTS):
            listing = self._layout.found(self._fs)
            try:
                contents = {first: self._fs.read(self._layout.wal(first)) for first in listing.wals}
            # Sealed between listing and reading: list again.
            except FileNotFoundError:
                continue
            self._files += len(contents)
            return listing, contents
        raise LogError(f"the files in {self._layout.wals} change faster than they can be read: verify again later.")

    def _frames(self, first: int, data: bytes, *, is_last: bool) -> list[wal.Frame]:
        """Return the frames of a write-ahead file up to the first that is not whole, which becomes a finding, or a note
        by the rule of recovery; whether acknowledged events are missing is checked later."""
        frames, broken = wal.scan(data, first=first)
        if broken is not None:
            after = wal.frame_after(data, broken.offset)
            reached = frames[-1].last if frames else first - 1
            where = f"at byte {broken.offset} of {len(data)}: {broken.problem}"
            if is_last and broken.kind == "torn" and after is None:
                self._note = f"{self._layout.wal(first)}: an append that was never finished {where}"
            else:
                span = Range(reached + 1, after.first - 1 if after else 0)
                self._add(self._layout.wal(first), f"damage {where}", span)
        return frames

    def _check_segment(self, span: Range, head: Head, sealing: list[wal.Frame] | None) -> Head:
        """Check one segment against the log before it and the record of its sealing; return the head after it.

        `sealing` are the frames of its own write-ahead file, if that still exists.
        """
        path = self._layout.segment(span)
        head = self._check_place(path, span, head)
        self._files += 1
        head_after = Head(span.last, "")
        if sealing is not None:
            reached = sealing[-1].last if sealing else span.first - 1
            if reached == span.last:
                head_after = Head(span.last, sealing[-1].chain.hex())
            elif self._layout.wal(span.first) not in {finding.file for finding in self._findings}:
                problem = f"ends with event {reached}, and {path.name} was made of it"
                self._add(self._layout.wal(span.first), problem, Range(reached + 1, span.last))
            if span.first not in self._recorded:
                self._check_sealing(span)
                return head_after
        with self._finding(path, span):
            sealed = self._sealed.seal_of(span)
            head_after = Head(span.last, sealed.chain)
            self._files += bool(sealed.vectors_sha256)
            segment = self._sealed.open(span)
            self._check_description(path, span, segment.about, head, head_after)
            records = segment.records(span)
            self._check_records(path, span, records)
            if self._search:
                self._search.in_segment(segment.about, records, self._vocabulary)
        return head_after

    def _check_sealing(self, span: Range) -> None:
        """Check a segment that is not recorded yet: its write-ahead file still counts."""
        if self._about is None:
            return
        try:
            _, sealed = made_of(self._fs, self._layout, span.first, self._about, self._vocabulary)
        except LogError:  # from the write-ahead file, which was already found damaged
            return
        names = ((self._layout.segment, sealed.sha256), (self._layout.vectors, sealed.vectors_sha256))
        for file, sha256 in ((name(span), sha256) for name, sha256 in names if sha256):
            with self._finding(file, span):
                if not self._fs.exists(file) or hashlib.sha256(self._fs.read(file)).hexdigest() != sha256:
                    source = self._layout.wal(span.first).name
                    self._add(file, f"not what {source} is sealed as; opening the log mends that", span)

    def _check_place(self, path: Path, span: Range, head: Head, before: Path | None = None) -> Head:
        """Check that a file continues where the log before it ends; `before` is the preceding write-ahead file."""
        if span.first == head.seq + 1:
            return head
        if span.first <= head.seq:
            self._add(path, f"repeats events up to {head.seq}", Range(span.first, min(span.last, head.seq)))
        else:
            gap = Range(head.seq + 1, span.first - 1)
            follows = f"{path.name} does not follow event {head.seq}"
            if before is None:
                names = f"{self._layout.segment(gap).name} or {self._layout.wal(gap.first).name}"
                self._add(self._layout.segment(gap), f"missing, be it {names}: {follows}", gap)
            elif before not in {finding.file for finding in self._findings}:
                self._add(before, f"its end is missing: {follows}", gap)
        return Head(span.first - 1, "")

    def _check_description(self, path: Path, span: Range, description: Description, head: Head, after: Head) -> None:
        log = (self._about.log_id, self._about.run) if self._about else (description.log_id, description.run)
        if (
            (description.first, description.last) != span
            or (description.log_id, description.run) != log
            or description.chain != after.chain
        ):
            self._add(
                path,
                f"describes itself as events {description.first} to {description.last} "
                f"of {description.run} {description.log_id}",
                span,
            )
        if head.chain and description.previous != head.chain:
            self._add(path, f"does not continue the chain at event {head.seq}", span)

    def _check_record(self, listing: Listing) -> None:
        """Check that the newest segment is recorded: no log opens otherwise, whatever the segment says about itself."""
        newest = listing.segments[-1] if listing.segments else None
        if newest and newest.first not in self._recorded and newest.first not in listing.wals:
            names = (
                f"{self._layout.segment(newest).name}: its end is missing, or {self._layout.wal(newest.first).name} is"
            )
            problem = f"does not record the hash of {names}"
            self._add(self._layout.wal(listing.tail[-1]), problem, Range(newest.last + 1, 0))

    def _check_wal(self, first: int, frames: list[wal.Frame], head: Head, before: Path | None) -> Head:
        path = self._layout.wal(first)
        span = Range(first, frames[-1].last if frames else first)
        head = self._check_place(path, span, head, before)
        if not frames:
            return head
        if head.chain and frames[0].previous != bytes.fromhex(head.chain):
            self._add(path, f"does not continue the chain at event {head.seq}", span)
        reader, run = FrameReader(self._vocabulary), self._about.run if self._about else ""
        with self._finding(path, span):
            self._check_records(path, span, (record for frame in frames for record in reader.records(frame, run)))
        return Head(span.last, frames[-1].chain.hex())

    def _check_records(self, path: Path, span: Range, records: Iterable[Record]) -> None:
        expected = span.first
        for record in records:
            if record.seq != expected:
                self._add(path, f"event {expected} is missing", Range(expected, record.seq - 1))
            # The chain covers contents, not the identity column of a segment; so it is recomputed.
            if self._about is not None and record.event_id != event_id(self._about.run, record.fact_id):
                self._add(path, "the identity does not belong to the event", Range(record.seq, record.seq))
            expected = record.seq + 1
        if expected != span.last + 1:
            self._add(path, f"ends before event {expected}", Range(expected, span.last))

    def _check_reach(self, acknowledged: int, head: Head) -> None:
        if head.seq < acknowledged:
            note = f" ({self._note})" if self._note else ""
            problem = f"ends with event {head.seq}, but event {acknowledged} was acknowledged{note}"
            # Blame the file in which the missing events would be.
            last = max(self._layout.found(self._fs).wals, default=head.seq + 1)
            self._add(self._layout.wal(last), problem, Range(head.seq + 1, acknowledged))

    def _check_bound(self, bound: HeadNote | None, head: Head, frames: dict[int, list[wal.Frame]]) -> None:
        if bound is None:
            return
        ends = {frame.last: frame.chain.hex() for scanned in frames.values() for frame in scanned}
        if (ends | {head.seq: head.chain or bound.chain}).get(bound.seq, bound.chain) != bound.chain:
            self._add(self._layout.head, f"names another chain at event {bound.seq}")

    def _add(self, file: Path, problem: str, span: Range = _NOTHING) -> None:
        self._findings.append(Finding(file, span.first, span.last, problem))

    @contextmanager
    def _finding(self, file: Path, span: Range = _NOTHING) -> Iterator[None]:
        try:
            yield
        except (LogError, UsageError, OSError) as error:
            self._add(file, str(error), span)
