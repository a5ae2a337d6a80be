"""A seeded history of the real log on a disk that forgets, refuses and fails, and what must hold all the time.

Rules: what a violation is
    - What the log shows is a prefix of what was attempted, commit by commit: no gap, nothing twice, nothing else.
    - Whatever was acknowledged, or shown to a reader at any moment, is there ever after, the same bit for bit.
    - A log recovers from everything that a crash or a failing disk leaves; recovering again changes nothing; then its
      verification finds nothing wrong.
    - After a failed write or sync the writer takes nothing more, and leaves no file open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from mage_es.events.care import verify_log
from mage_es.events.disk import Range
from mage_es.events.errors import PrerequisiteError, UsageError, WriterPoisoned
from mage_es.events.log import Log, LogReader
from mage_es.events.segments.reader import Segment
from mage_es.events.vocabulary import Draft, PhaseCompleted, Record, tag_of
from tests.events.disks import Crash, ForgetfulDisk
from tests.events.samples import abandon, bits, clock, closed, remembered

PATH = Path("/run/log")
_ROLL = 5
_EFFECTS = (15, 40, 100)
"""Within so many effects a life ends, if it is to end early; a whole history has about a hundred."""


class Explorer:
    """Lives through one history: a few lives of the writer, each ended by a crash, a failing disk or a clean close."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.disk = ForgetfulDisk(self.random)
        self.history = _history(self.random)
        self.facts = [draft for batch in self.history for draft in batch]
        self.borders = {0, *accumulate(map(len, self.history))}
        self.acknowledged: dict[int, bytes] = {}  # events that must be there ever after, by sequence number
        self.shown: dict[int, bytes] = {}  # the same of records, as a reader has shown them
        self.done = 0  # commits known to be acknowledged
        self.readers: list[_Reader] = []

    def run(self) -> None:
        """Live. Raises `AssertionError`, or whatever error the log meets where it should meet none."""
        with (
            patch("mage_es.events.wal.active.ROLL_EVENTS", _ROLL),
            patch("mage_es.events.segments.sealed.Segment", _remembering()),
        ):
            for _ in range(self.random.randint(1, 4)):
                self._plan()
                with self._ends():
                    self._live()
                if self.readers:
                    self.readers[0].read_on()
                self._crash(power=self.random.random() < 0.7)
            self._live()
            assert self._look().count == len(self.facts), "facts are missing at the end"
            assert verify_log(PATH, self.disk).findings == []

    def _plan(self) -> None:
        """Decide what goes wrong in the life that begins."""
        self.disk.fuse = self._some_effect() if self.random.random() < 0.7 else None
        self.disk.full_after = self._some_effect() // 2 if self.random.random() < 0.2 else None
        self.disk.sync_fails_after = self._some_effect() // 3 if self.random.random() < 0.3 else None
        self.disk.short_writes = self.random.random() < 0.3
        self.disk.watch = self._peek

    def _some_effect(self) -> int:
        return self.random.randint(0, self.random.choice(_EFFECTS))

    @contextmanager
    def _ends(self) -> Iterator[None]:
        """Let a life end by a crash, or by a disk that refuses."""
        disturbed = self.disk.full_after is not None or self.disk.sync_fails_after is not None
        try:
            yield
        except Crash:
            return
        except (WriterPoisoned, PrerequisiteError):
            assert disturbed, "a sound disk was called unsound"
        assert not self.disk.open_files, "files were left open"

    def _crash(self, *, power: bool) -> None:
        """Other processes may read on before anybody recovers the log; a loss of power ends those too."""
        self.disk.crash(power=power)
        self.disk.watch = lambda: None
        if power:
            self.readers = []
        if self.random.random() < 0.3:
            _Reader(self).read_on()  # it may show less than was acknowledged: nobody knows what was synced

    # ------------------------------------------------------------ one life

    def _live(self) -> None:
        """Go on from wherever the last life ended, retrying what may or may not have been recorded."""
        log = self._opened()
        self._look()
        if self.random.random() < 0.3:
            log = self._opened_again(log)
        if self.random.random() < 0.3:
            assert verify_log(PATH, self.disk).findings == []
        for number in range(max(self.done - 1, 0), len(self.history)):
            self._append(log, number)
        log.close()

    def _opened(self) -> Log:
        try:
            return Log.open(PATH, clock=clock(), fs=self.disk)
        except UsageError:
            assert not self.due, "a log that was written to is no longer one"
            return Log.create(PATH, run="r1", clock=clock(), fs=self.disk)

    def _opened_again(self, log: Log) -> Log:
        before, head = self.disk.contents(), log.head
        abandon(log)
        self.disk.open_files.clear()
        log = Log.open(PATH, clock=clock(), fs=self.disk)
        assert (self.disk.contents(), log.head) == (before, head), "recovering again changed something"
        return log

    def _append(self, log: Log, number: int) -> None:
        batch = self.history[number]
        try:
            seqs, events = log.append(batch, expected_seq=self.random.choice((None, log.head.seq)))
        except WriterPoisoned:
            self._require_refusal(log, batch)
            log.close()
            raise
        assert bits(events) == bits(d.event for d in batch), "acknowledged is not what was appended"
        self.done = max(self.done, number + 1)
        for seq, event in zip(seqs, events, strict=True):
            told = self.acknowledged.setdefault(seq, bits([event]))
            assert told == bits([event]), f"event {seq} was acknowledged as another"

    def _require_refusal(self, log: Log, batch: list[Draft]) -> None:
        try:
            log.append(batch)
        except WriterPoisoned:
            return
        raise AssertionError("the writer went on after a failure")

    # ------------------------------------------------------------ looking

    def _look(self) -> _Reader:
        """Read the whole log with a new reader, as the open writer vouches for it."""
        reader = _Reader(self)
        reader.read_on()
        assert reader.next > self.due, f"event {reader.next} was acknowledged or shown, and is gone"
        return reader

    def _peek(self) -> None:
        """Read on as a tailing reader does, now and then, in the middle of whatever the writer is at."""
        crashes = self.disk.fuse is not None and self.disk.fuse < 0
        if self.random.random() > (0.5 if crashes else 0.06):
            return
        watch, self.disk.watch = self.disk.watch, lambda: None
        if not self.readers:
            self.readers.append(_Reader(self))
        self.readers[0].read_on()
        self.disk.watch = watch

    @property
    def due(self) -> int:
        """The last event that was acknowledged or shown."""
        return max((*self.shown, *self.acknowledged), default=0)

    def _show(self, record: Record) -> None:
        assert self.shown.setdefault(record.seq, bits([record])) == bits([record]), f"event {record.seq} has changed"
        event = bits([record.event])
        assert self.acknowledged.get(record.seq, event) == event, f"event {record.seq} is not what was acknowledged"


class _Reader:
    """A tailing reader: `next` is the number of the event it shows next, `count` how many facts it has shown."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer
        self._reader: LogReader | None = None
        self.next = 1
        self.count = 0

    def read_on(self) -> None:
        """Show what there is to be seen, and compare it with what was attempted and with what was ever shown."""
        if not self._is_open():
            return
        assert self._reader is not None
        for record in self._reader.records(since=self.next):
            assert record.seq == self.next, f"event {record.seq} is shown where {self.next} is due"
            self._explorer._show(record)
            self.next += 1
            if record.phase != "log":
                assert bits([record.event]) == bits([self._explorer.facts[self.count].event]), "not what was attempted"
                self.count += 1
        assert self.count in self._explorer.borders, "part of a commit is shown"

    def _is_open(self) -> bool:
        if self._reader is not None:
            self._reader.refresh()
            return True
        try:
            self._reader = LogReader(PATH, self._explorer.disk)
        except UsageError:
            assert not self._explorer.due, "a log that was written to is no longer one"
        return self._reader is not None


def _remembering() -> type[Segment]:
    """Return a class of segments that decodes the same bytes once, however often a history reads them."""
    known: dict[tuple[bytes, bytes], list[Record]] = {}

    class Remembering(Segment):
        def __init__(self, data: bytes, vectors: Callable[[], bytes], **options: Any) -> None:
            super().__init__(data, vectors, **options)
            self._key = data, vectors

        def records(self, window: Range, tags: Collection[str] | None = None) -> list[Record]:
            data, vectors = self._key
            key = data, vectors() if self.about.vectors else b""
            if key not in known:
                known[key] = super().records(Range(self.about.first, self.about.last))
            found = (record for record in known[key] if window.first <= record.seq <= window.last)
            return [record for record in found if tags is None or tag_of(record.event) in tags]

    return Remembering


def _history(random: Random) -> list[list[Draft]]:
    """Return some commits, each a few facts; now and then one has a vector, or closes an iteration."""
    history, number = [], 0
    for _ in range(random.randint(1, 8)):
        size = random.randint(1, 3)
        batch = [remembered(n) if random.random() < 0.1 else _small(n) for n in range(number, number + size)]
        if random.random() < 0.15:
            batch.append(closed(number))
        history.append(batch)
        number += size
    return history


def _small(number: int) -> Draft:
    event = PhaseCompleted(iteration=number, phase="evaluate")
    return Draft(event=event, iteration=number, phase="evaluate", ordinal=number)
