"""The writer of a log: one process, atomic durable commits, an order without gaps."""

from __future__ import annotations

import errno
import hashlib
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mage_es.events import wal
from mage_es.events.disk.documents import RESTORE, Format, Head, HeadNote, Past, genesis, pack
from mage_es.events.disk.filesystem import FileSystem, LocalFileSystem, write_all, write_new
from mage_es.events.disk.keys import Keys, make_keys
from mage_es.events.disk.layout import Layout, Range
from mage_es.events.disk.lock import WriterLock, watermark
from mage_es.events.errors import LogDamaged, PrerequisiteError, SequenceConflict, UsageError, WriterPoisoned
from mage_es.events.facts import Coordinates, Draft, Event, Record, SegmentSealed, Vocabulary
from mage_es.events.log.allocators import give_back_freed
from mage_es.events.log.recorded import RecordedFacts
from mage_es.events.log.recovery import Recovered, read_format, recover, require_nothing
from mage_es.events.segments import questions
from mage_es.events.segments.sealed import SealedEvents, seals_in
from mage_es.events.segments.sealing import is_sealed_as, seal
from mage_es.events.wal.active import ActiveWal
from mage_es.events.wal.bodies import FrameReader, body_of, storable

# Microseconds since 1970 (UTC). Passed in so that tests are deterministic.
LogClock = Callable[[], int]
OnWritten = Callable[[], None] | None

__all__ = ["Head", "Log", "LogClock"]


class Appended(NamedTuple):
    """The sequence numbers and events of some facts, in the order given to the log; a fact that was already recorded is
    returned as recorded."""

    seqs: Sequence[int]
    events: Sequence[Event]


class Log:
    """The one writer of a log. Use `create` or `open`, and `close` or a `with` block at the end."""

    def __init__(
        self,
        layout: Layout,
        about: Format,
        vocabulary: Vocabulary | None,
        *,
        start: Head,
        clock: LogClock,
        fs: FileSystem,
        lock: WriterLock,
    ) -> None:
        self.vocabulary = vocabulary or Vocabulary.default
        self.run = about.run
        self._seq, self._chain = start.seq, bytes.fromhex(start.chain)
        self._layout = layout
        self._about = about
        self._clock = clock
        self._fs = fs
        self._lock = lock
        self._active: ActiveWal | None = None
        self._trouble: str | None = None
        self._mutex = threading.Lock()
        self._sealed = SealedEvents(fs, layout, self.vocabulary)
        self._recorded = RecordedFacts(self._sealed, self.vocabulary.once)
        self._reread: dict[int, Record] = {}
        self.keys: Keys | None = None

    # ------------------------------------------------------------ life

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        run: str,
        clock: LogClock,
        fs: FileSystem | None = None,
        vocabulary: Vocabulary | None = None,
        past: Past | None = None,
    ) -> Log:
        """Start a new log in the folder `path`, which is created. It continues `past`, if a reader of that log has
        linked it into the folder past/. Raises `UsageError` if there already is a log, `RunLocked`, and
        `PrerequisiteError` if the disk refuses."""
        fs, layout = fs or LocalFileSystem(), Layout(path)
        with _refusals(f"create a log in {path}"), ExitStack() as undo:
            for folder in (layout.wals, layout.segments, layout.quarantine):
                fs.make_folder(folder)
            lock = WriterLock(fs, layout.lock)
            undo.callback(lock.release)
            _require_vacant(fs, layout)
            created = clock()
            log_id = hashlib.sha256(f"{run}\0{created}".encode()).hexdigest()[:32]
            version = 2 if past else 1
            about = Format(format=version, log_id=log_id, run=run, hash="sha256", created=created, past=past)
            start = Head(0, genesis(pack(about)).hex())
            log = cls(layout, about, vocabulary, start=start, clock=clock, fs=fs, lock=lock)
            undo.callback(log._close_file)
            log._begin()
            # The log is whole: it keeps the lock and its file.
            undo.pop_all()
            return log

    @classmethod
    def open(
        cls, path: Path, *, clock: LogClock, fs: FileSystem | None = None, vocabulary: Vocabulary | None = None
    ) -> Log:
        """Open a log for appending, however its last writer ended.

        Raises `UsageError` (not a log), `RunLocked`, `LogDamaged` (nothing was changed), `UnknownEvent` (the unsealed
        tail was written by a newer release), and `PrerequisiteError` if the disk refuses.
        """
        fs, layout = fs or LocalFileSystem(), Layout(path)
        with _refusals(f"open the log in {path}"), ExitStack() as undo:
            about, start = read_format(fs, layout)
            lock = WriterLock(fs, layout.lock)
            undo.callback(lock.release)
            found = recover(fs, layout, start)
            log = cls(layout, about, vocabulary, start=found.head, clock=clock, fs=fs, lock=lock)
            undo.callback(log._close_file)
            log._settle(found)
            undo.pop_all()
            return log

    def reopened(self) -> Log:
        """Return this log, reopened as a new process would do it. It may hold more than was acknowledged: what was
        written before a sync failed. Raises what `open` raises; it may then be tried again.
        """
        self.close()
        return Log.open(self._layout.path, clock=self._clock, fs=self._fs, vocabulary=self.vocabulary)

    def close(self) -> None:
        """Seal everything unsealed, write HEAD, and release the lock. A poisoned writer only releases the lock."""
        with self._mutex:
            if self._active is None:
                return
            try:
                if self._trouble is None:
                    with self._effect("close the log"):
                        if self._active.has_facts:
                            self._roll()
                        self._write_head()
            finally:
                self._active.file.close()
                self._active = None
                self._lock.release()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def head(self) -> Head:
        return Head(self._seq, self._chain.hex())

    @property
    def past(self) -> Past | None:
        return self._about.past

    def seal_texts_of(self, subjects: Collection[str]) -> None:
        """Record every text that is private to one of these subjects (facts/private.py) encrypted."""
        self.keys = make_keys(self._layout.path, subjects) if subjects else None

    # ------------------------------------------------------------ appending

    def append(
        self, drafts: Sequence[Draft], *, expected_seq: int | None = None, on_written: OnWritten = None
    ) -> Appended:
        """Record facts in one atomic commit; once this returns they survive any crash.

        Facts already recorded (same identity) are not recorded again: the existing ones are returned.
        `expected_seq` is where the caller believes the head to be. `on_written` is called before the sync, when new
        facts survive the end of the process but not yet a loss of power; it must not raise.

        Raises `UsageError` for an event that cannot be stored (nothing happened), `SequenceConflict` if the head is
        elsewhere (nothing happened), `WriterPoisoned` if a write or sync failed, now or earlier.
        """
        with self._mutex:
            self._require_sound()
            # Before the check, which decodes what was encoded; from here on each text carries its token.
            sealed = [self.keys.sealed(draft) for draft in drafts] if self.keys else None
            exact, facts = storable(sealed or drafts, self.vocabulary)
            exact = sealed or exact
            # A retry after a crash finds its facts here: the commit was durable although its answer was lost.
            known = self._recorded.find(facts)
            if len(known) == len(facts):
                return self._appended(exact, facts, known)
            if expected_seq is not None and expected_seq != self._seq:
                raise SequenceConflict(
                    f"the log of {self.run} is at event {self._seq}, not at {expected_seq}: another call appended in "
                    "between. Read what is new and decide again."
                )
            # Sealed before the append, not after it: a failed seal must not raise for facts that are already durable.
            if self._require_active().is_full:
                self._roll()
            # The common case, kept free of the bookkeeping below.
            if not known:
                first = self._commit(exact, facts, on_written)
                return Appended(range(first, first + len(exact)), [draft.event for draft in exact])
            new = [(draft, fact) for draft, fact in zip(exact, facts, strict=True) if fact not in known]
            first = self._commit([draft for draft, _ in new], [fact for _, fact in new], on_written)
            return self._appended(exact, facts, known, {fact: seq for seq, (_, fact) in enumerate(new, first)})

    def _appended(
        self,
        drafts: Sequence[Draft],
        facts: Sequence[Coordinates],
        known: Mapping[Coordinates, int],
        new: Mapping[Coordinates, int] = MappingProxyType({}),
    ) -> Appended:
        seqs = [known[fact] if fact in known else new[fact] for fact in facts]
        then = {seq: self._record_at(seq).event for seq in known.values()}
        return Appended(seqs, [then.get(seq, draft.event) for seq, draft in zip(seqs, drafts, strict=True)])

    def _commit(self, drafts: Sequence[Draft], facts: Sequence[Coordinates], on_written: OnWritten = None) -> int:
        """Write one frame and sync it; return its first sequence number."""
        active, self._reread = self._require_active(), {}
        first, now = self._seq + 1, self._clock()
        frame, chain = wal.encode(
            body_of(drafts, now, self.vocabulary), first=first, count=len(drafts), previous=self._chain
        )
        with self._effect("append to the log"):
            # The order matters: memory moves after the sync, and the watermark after memory.
            write_all(active.file, frame)
            if on_written:
                on_written()
            active.file.sync()
            self._seq, self._chain = first + len(drafts) - 1, chain
            active.add(first, len(drafts), len(frame), facts=bool(facts))
            self._recorded.add(facts, first)
            self._lock.publish(self._seq)
            # HEAD at each closed iteration: cheap, and it reveals a log that was cut at a later frame border.
            if not self.vocabulary.heads.isdisjoint(map(_type, facts)):
                self._write_head()
        return first

    def store(self, texts: Sequence[Any], golds: Sequence[Any]) -> Any:
        """Make questions durable beside the log; return the event that binds them once it is appended.

        Raises `UsageError` for a text that is not valid Unicode, or if the vocabulary has no questions, and
        `WriterPoisoned` like `append`.
        """
        if self.vocabulary.questions is None:
            raise UsageError(f"the log of {self.run} has no questions: its vocabulary names no types for them.")
        try:
            if self.keys:
                texts, golds = list(map(self.keys.as_stored, texts)), list(map(self.keys.as_stored, golds))
            encoded = questions.encode(texts, golds, self.vocabulary.questions)
        except UnicodeEncodeError as error:
            raise UsageError(f"a question is not valid Unicode: {error}. Correct the data.") from error
        with self._mutex:
            self._require_sound()
            with self._effect("store the questions"):
                questions.store(self._fs, self._layout, encoded, is_first=self._seq == 0)
        return encoded.stored

    # ------------------------------------------------------------ what is already recorded

    def recorded(self, fact: Coordinates) -> Record | None:
        """Return the record of a fact, or None. Raises `LogDamaged`."""
        with self._mutex:
            seq = self._recorded.find([fact]).get(fact)
            return None if seq is None else self._record_at(seq)

    def _record_at(self, seq: int) -> Record:
        # Retries come in runs, so the segment or frame is kept until the next commit.
        if seq not in self._reread:
            found = self._records_around(seq)
            self._reread = {each.seq: self.keys.opened(each) if self.keys else each for each in found}
        return self._reread[seq]

    def _records_around(self, seq: int) -> Iterator[Record]:
        active = self._require_active()
        if seq < active.first:
            return self._sealed.records(next(span for span in self._sealed.spans if span.first <= seq <= span.last))
        place = active.place_of(seq)
        path = self._layout.wal(active.first)
        frame = wal.decode(self._fs.read(path, place.offset, place.size))
        if isinstance(frame, wal.Broken):
            raise LogDamaged(f"{path} is damaged at byte {place.offset}: {frame.problem}. {RESTORE}")
        return FrameReader(self.vocabulary).records(frame, self.run)

    # ------------------------------------------------------------ files

    def _begin(self) -> None:
        # A LOCK left by another log would claim that this empty one lost events.
        if watermark(self._fs, self._layout.lock):
            self._lock.publish(0)
        # Leftovers of a creation that crashed before FORMAT; nothing in them was acknowledged.
        for name in self._fs.names(self._layout.wals):
            self._fs.unlink(self._layout.wals / name)
        self._active = self._new_wal(1)
        self._write_head()
        # Last: a crash before this leaves nothing that looks like a log.
        write_new(self._fs, self._layout.format, pack(self._about))

    def _settle(self, found: Recovered) -> None:
        """Take over what recovery found, and finish a seal that a crash interrupted."""
        # More than one file only if a crash interrupted a roll: all but the last are full and wait to be sealed.
        *full, last = found.tails
        active = self._active = ActiveWal(last, self._fs.append(self._layout.wal(last)))
        self._recorded.believe(found.bound.holdings)
        reader = FrameReader(self.vocabulary)
        for first, frames in found.tails.items():
            for frame in frames:
                # All of it now, since a frame that this release cannot read could never be sealed: the log must not
                # open.
                _, drafts = reader.commit(frame)
                has_facts = {type(draft.event) for draft in drafts} != {SegmentSealed}
                if has_facts:
                    self._recorded.add([draft.coordinates for draft in drafts], frame.first)
                if first == last:
                    active.add(frame.first, frame.events, frame.size, facts=has_facts)
        recorded = seals_in(frame for frames in found.tails.values() for frame in frames)
        with self._effect("finish what the last writer of the log began"):
            self._sealed.show(found.listing.segments, recorded)
            for first in found.leftover:
                # Only the newest segment can be half a seal; older ones had their record synced before the next began.
                newest = first == found.listing.segments[-1].first
                if newest and (first not in recorded or not is_sealed_as(self._fs, self._layout, recorded[first])):
                    self._seal(first)
                self._drop_wal(first)
            for first in full:
                self._recorded.seal(self._seal(first))
                self._drop_wal(first)
            self._write_head()
            self._lock.publish(self._seq)

    def _roll(self) -> None:
        # sealing.py explains why the order of these steps is safe.
        with self._effect("seal the log"):
            full = self._require_active()
            # The new file exists, synced, before the old one is closed, so there is always somewhere to append.
            self._active = self._new_wal(self._seq + 1)
            full.file.close()
            self._write_head()
            # The old file is removed only after the record of its seal is durable in the new one.
            self._recorded.seal(self._seal(full.first))
            self._drop_wal(full.first)

    def _new_wal(self, first: int) -> ActiveWal:
        file = self._fs.create(self._layout.wal(first))
        try:
            file.sync()
            self._fs.sync_folder(self._layout.wals)
        except BaseException:  # also Ctrl-C: only what is returned is closed elsewhere
            file.close()
            raise
        return ActiveWal(first, file)

    def _seal(self, first: int) -> Range:
        # The ordinal makes each seal's record a separate fact.
        event = seal(self._fs, self._layout, first, self._about, self.vocabulary)
        give_back_freed()
        self._commit([Draft(event=event, iteration=-1, phase="log", ordinal=self._seq + 1)], [])
        span = Range(event.first, event.last)
        # Sealed again after a crash, the same span is already listed: hence the set.
        self._sealed.show(sorted({*self._sealed.spans, span}), {first: event})
        return span

    def _drop_wal(self, first: int) -> None:
        self._fs.unlink(self._layout.wal(first))
        self._fs.sync_folder(self._layout.wals)

    def _write_head(self) -> None:
        note = HeadNote(seq=self._seq, chain=self._chain.hex(), holdings=self._recorded.holdings)
        write_new(self._fs, self._layout.head, pack(note))

    def _close_file(self) -> None:
        if self._active is not None:
            self._active.file.close()

    # ------------------------------------------------------------ soundness

    def _require_active(self) -> ActiveWal:
        if self._active is None:
            raise UsageError(f"the log of {self.run} is closed: open it again.")
        return self._active

    def _require_sound(self) -> None:
        self._require_active()
        if self._trouble is not None:
            raise WriterPoisoned(f"the log of {self.run} accepts nothing more: {self._trouble}. {_REOPEN}")

    @contextmanager
    def _effect(self, what: str) -> Iterator[None]:
        # Poisoned first and cleared on success, so that an interruption (Ctrl-C) poisons too.
        before, self._trouble = self._trouble, f"an attempt to {what} was interrupted"
        try:
            yield
        except OSError as error:
            self._trouble = f"an attempt to {what} failed ({error})"
            space = "The disk is full: make room. " if error.errno in _FULL else ""
            raise WriterPoisoned(f"{self._layout.path}: could not {what}: {error}. {space}{_REOPEN}") from error
        self._trouble = before


_type = itemgetter(3)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REOPEN = "Nothing that was acknowledged is lost; start again, or resume the run: that recovers the log."


def _require_vacant(fs: FileSystem, layout: Layout) -> None:
    if fs.exists(layout.format):
        raise UsageError(f"there is already a log in {layout.path}. Resume it, or choose another folder.")
    require_nothing(fs, layout)


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PrerequisiteError(f"cannot {what}: {error}. Check path, permissions and free space.") from error
    except WriterPoisoned as error:
        raise PrerequisiteError(str(error)) from error
