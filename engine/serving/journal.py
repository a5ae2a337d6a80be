"""The journal of a served run: what requests record is made durable in batches, on a separate thread.

Theory of operation
    Requests, on one thread or on many, hand over drafts. The journal's thread takes all that are waiting, appends them
    to the log in one frame, which costs one sync, and applies them to the state; only then are the callers that wait
    for it released. So a hundred requests at once cost about as many syncs as one.

    A caller that need not wait for the disk continues once the frame is written, which survives the end of
    the process, and asks later whether it became durable.

    Log and state change under one lock, which a session that publishes shares (session/session.py): between two of its
    steps the journal works.

    When a write or sync fails, the log accepts nothing more until it is opened again. Until then every caller gets
    `NotRecorded`; what was acknowledged before is durable and stays. The thread reopens the log every few seconds, as a
    new process would, and the interruption is over once an event that says so is durable: a disk that is still full may
    have room for an empty file.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from typing import NamedTuple

from mage_es.events.errors import MageError, UsageError, WriterPoisoned
from mage_es.events.log import Log
from mage_es.events.vocabulary import Draft, Event
from mage_es.projections.fold import State

_PATIENCE = 0.05
"""How many seconds an event that no caller waits for may be held back, to share another's sync."""
_MOST = 1024
"""Most entries of one commit, which bounds how long the lock is held."""
_MOST_WAITING = 100_000
"""Most entries that may wait in memory. Only a hanging disk lets so many gather."""
RETRY_S = 5.0
"""Seconds until a log that refused an event is opened again."""


_TELLING, _MOSTLY = 50, 0.8
_logger = logging.getLogger(__name__)


class NotRecorded(MageError):
    """The log did not record this, and accepts nothing more until it is reopened."""

    exit_code = WriterPoisoned.exit_code


class Health(NamedTuple):
    """The state of a served run: the marker that new sessions see, why nothing is recorded ("" if everything is), and
    how many entries wait; how many of this process's questions were looked up, and how many had no memory near
    enough; why the last publish beside it failed ("" if none did)."""

    run: str
    marker: str
    problem: str
    queued: int
    looked_up: int
    far: int
    unpublished: str = ""

    @property
    def is_mostly_far(self) -> bool:
        """Whether enough questions show that the memories are about other things than the traffic."""
        return self.looked_up >= _TELLING and self.far > _MOSTLY * self.looked_up


class Recording(Future[Sequence[Event]]):
    """Holds the events once they are durable. `written` is known earlier: true once they survive the end of this
    process, false if they were not recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.written: Future[bool] = Future()
        for each in (self, self.written):
            # Marked as running, so that no caller can cancel it: that would hit the log between write and sync.
            each.set_running_or_notify_cancel()

    def succeed(self, events: Sequence[Event]) -> None:
        if not self.written.done():  # what was already in the log is not written again
            self.written.set_result(True)
        self.set_result(events)

    def fail(self, error: Exception) -> None:
        # Before `written`, so that a caller who learns that it was not written finds the reason here.
        self.set_exception(error)
        if not self.written.done():
            self.written.set_result(False)


class _Entry(NamedTuple):
    """Events, or a function that decides drafts on the state at that time, and the caller that waits for them."""

    drafts: Sequence[Event] | Callable[[], Sequence[Draft]]
    recording: Recording | None


Reopen = Callable[[int, int], tuple[Log, Sequence[Draft]]]
"""Takes the number of the interruption, and how many entries were lost. Reopens the log, updates the state, and returns
the log with what to record first. Called under the lock. Raises `MageError` while the disk refuses."""


class Journal:
    def __init__(
        self,
        log: Log,
        state: State,
        lock: AbstractContextManager[object],
        *,
        reopen: Reopen,
        say: Callable[[str], None] = lambda words: None,
        retry_s: float = RETRY_S,
    ) -> None:
        """`say` is called when recording stops and when it resumes."""
        self.problem = ""
        """Why nothing is being recorded; "" while everything is."""
        self.lost = 0
        """How many entries were not recorded since the start, or since recording last resumed."""
        self._log, self._state, self._lock = log, state, lock
        self._reopen, self._say, self._retry_s, self._interruptions = reopen, say, retry_s, 0
        self._refused_at = 0.0
        self._waiting: deque[_Entry] = deque()
        self._changed = threading.Condition()
        self._is_urgent = self._is_closing = False
        self._thread = threading.Thread(target=self._work, name="mage-es journal", daemon=True)
        self._thread.start()

    @property
    def queued(self) -> int:
        return len(self._waiting)

    def submit(
        self, drafts: Sequence[Event] | Callable[[], Sequence[Draft]], recording: Recording | None = None
    ) -> Recording:
        """Return what will hold the events once they are durable, whether or not a caller waits for that. A
        function is called, on the journal's thread and under the lock, to decide on the state at that time. What it
        raises, or `NotRecorded`, becomes the recording's exception: then none of it is recorded."""
        recording = recording or Recording()
        try:
            self._add(_Entry(drafts, recording))
        except NotRecorded as error:
            recording.fail(error)
        return recording

    def put(self, event: Event) -> None:
        """Record an event soon. Events that arrive while the log refuses are counted and dropped."""
        with suppress(NotRecorded):
            self._add(_Entry([event], None))

    def close(self) -> None:
        """Record what is still waiting and end the thread; the log stays open."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join()

    def _add(self, entry: _Entry) -> None:
        with self._changed:
            if self._is_closing or self.problem or len(self._waiting) >= _MOST_WAITING:
                self.lost += 1
                raise NotRecorded(self.problem or "Nothing is recorded: the run is closed, or its disk is too slow.")
            self._waiting.append(entry)
            if entry.recording is not None or len(self._waiting) >= _MOST:
                self._is_urgent = True
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                patience = self._retry_s if self.problem else None
                self._changed.wait_for(lambda: self._waiting or self._is_closing, timeout=patience)
                self._changed.wait_for(lambda: self._is_urgent or self._is_closing, timeout=_PATIENCE)
                taken = [self._waiting.popleft() for _ in range(min(_MOST, len(self._waiting)))]
                self._is_urgent = len(self._waiting) > 0
                if not taken and self._is_closing:
                    return
            self._commit(taken)
            if self.problem and not self._is_closing and time.monotonic() - self._refused_at >= self._retry_s:
                self._go_on()

    def _go_on(self) -> None:
        """Reopen the log, and record that it accepts events again."""
        try:
            with self._lock:
                self._log, drafts = self._reopen(self._interruptions, self.lost)
                self._record(drafts)
        except (MageError, OSError) as error:
            self.problem, self._refused_at = str(error), time.monotonic()
            return
        lost, self.lost, self.problem = self.lost, 0, ""
        self._say(f"Recording again, and putting memories into requests. Not on record since it stopped: {lost}.")

    def _stop(self, problem: str) -> None:
        self.problem, self._refused_at = problem, time.monotonic()
        self._interruptions += 1
        self._say(
            f"Recording stopped: {problem.removesuffix('.')}. Requests go on without new memories; reopening the "
            f"log is tried every {self._retry_s:g} s."
        )

    def _record(self, drafts: Sequence[Draft], written: Callable[[], None] = lambda: None) -> Sequence[Event]:
        """Append to log and state; the lock is held."""
        appended = self._log.append(drafts, on_written=written)
        for seq, event in zip(appended.seqs, appended.events, strict=True):
            if seq > self._state.seq:
                self._state.apply(event)
                self._state.seq = seq
        return appended.events

    def _commit(self, entries: Sequence[_Entry]) -> None:
        """Record entries in order: each that a function decides by itself, the others together with their
        neighbours."""
        together: list[_Entry] = []
        for entry in entries:
            if callable(entry.drafts):
                self._append(together)
                self._append([entry])
                together = []
            else:
                together.append(entry)
        self._append(together)

    def _append(self, entries: Sequence[_Entry]) -> None:
        if not entries:
            return
        recordings = [entry.recording for entry in entries if entry.recording]

        def written() -> None:
            for recording in recordings:
                recording.written.set_result(True)

        try:
            if self.problem:
                raise NotRecorded(self.problem)
            with self._lock:
                decided = [self._decided(entry) for entry in entries]
                events = iter(self._record([draft for each in decided for draft in each], written))
        except UsageError as error:
            # An entry that cannot be stored concerns one caller: the others are recorded without it.
            if len(entries) > 1:
                for entry in entries:
                    self._append([entry])
            else:
                self._fail(entries, error)
        except WriterPoisoned as error:
            self._stop(str(error))
            self._fail(entries, NotRecorded(self.problem))
        except Exception as error:  # the thread must outlive any one entry
            _logger.exception("%d entries were not recorded", len(entries))
            self._fail(entries, error)
        else:
            for entry, each in zip(entries, decided, strict=True):
                own = [next(events) for _ in each]
                if entry.recording is not None:
                    entry.recording.succeed(own)

    def _decided(self, entry: _Entry) -> Sequence[Draft]:
        if callable(entry.drafts):
            return entry.drafts()
        # The open iteration is the one that the next publish closes.
        k = self._state.progress.closed + 1
        return [Draft(event=event, iteration=k, phase="serve") for event in entry.drafts]

    def _fail(self, entries: Sequence[_Entry], error: Exception) -> None:
        self.lost += len(entries)
        for entry in entries:
            if entry.recording is not None:
                entry.recording.fail(error)
