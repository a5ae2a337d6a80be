"""Calls in flight: how many were pending when a process ended, so that a resumed run can report what it repeats.

Rules
    - The number only appears in a message. The log alone decides which calls are made again.
    - It is written twice per call, without a sync. A killed process leaves the true number behind. After a power loss,
      or in a copy of a run, the boot id differs or the file is missing, and the number is reported as unknown.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mage_es.engine.seams.clock import SYSTEM_CLOCK, Clock
from mage_es.engine.seams.model import Completion, Model, Request, reply_of
from mage_es.events.disk import LocalFileSystem
from mage_es.events.disk.opening import open_regular, read_small
from mage_es.projections.ledger import Usage

_SIZE = 48
"""Bytes of the file: a number and the machine's boot id, padded so that a write replaces the whole content."""
_BUSY = 75
"""If all slots are in use at least this percentage of the time, more of them may help."""


class CallsInFlight:
    """The calls of this process that have started and are not recorded yet, counted in a file."""

    def __init__(self, path: Path, *, is_first: bool = False) -> None:
        """`is_first`: no call of the run is recorded, so there may be no file yet."""
        self._path, self._boot, self._is_first = path, LocalFileSystem().boot_id(), is_first
        self._file: int | None = None
        self._calls: Counter[str] = Counter()
        self._count = 0
        self.left_behind = self._read()

    def _read(self) -> str:
        """Return a phrase for how many calls were in flight when the last process ended."""
        if self._is_first and not self._path.exists():
            return "0"
        unknown = "not known (this is a copy of the run, or the machine was rebooted)"
        try:
            number, _, boot = read_small(self._path, _SIZE).decode().partition(" ")
        except (OSError, ValueError):
            return unknown
        return number if self._boot and boot.strip() == self._boot else unknown

    def add(self, request_sha256: str) -> None:
        self._calls[request_sha256] += 1
        self._write(self._count + 1)

    def remove(self, request_sha256: str) -> None:
        """Count a call as recorded; a call that another process started is ignored."""
        # The same request may be in flight more than once, when two questions give one prompt.
        begun = self._calls.pop(request_sha256, 0)
        if begun > 1:
            self._calls[request_sha256] = begun - 1
        if begun:
            self._write(self._count - 1)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, count: int) -> None:
        self._count = count
        # Not before the first call: a session that calls no model leaves the run's folder as it was.
        if self._file is None:
            self._file = open_regular(self._path, os.O_WRONLY | os.O_CREAT)
        # One write of a fixed size: a process killed here leaves the old number or the new one.
        os.pwrite(self._file, f"{count} {self._boot}\n".ljust(_SIZE).encode(), 0)


class BusySlots:
    """For how many of the seconds in which questions were answered all slots were in use."""

    def __init__(self, number: int, clock: Clock = SYSTEM_CLOCK) -> None:
        self.number, self._clock = number, clock
        self.busy_s = self.answering_s = 0.0
        self._calls, self._is_answering, self._since = 0, False, 0.0

    @contextmanager
    def answering(self) -> Iterator[None]:
        self._turn()
        self._is_answering = True
        try:
            yield
        finally:
            self._turn()
            self._is_answering = False

    @contextmanager
    def call(self) -> Iterator[None]:
        self._turn()
        self._calls += 1
        try:
            yield
        finally:
            self._turn()
            self._calls -= 1

    def summary(self, used: Usage) -> str:
        """Return a sentence on whether more workers would help, by the share of time in which all slots were in use; ""
        if nothing was answered."""
        if not self.busy_s:
            return ""
        busy = round(100 * self.busy_s / self.answering_s)
        more = "may be faster, if the model takes them" if busy >= _BUSY else "would hardly be faster"
        summary = f"All {self.number} workers waited for the model {busy} % of the time: more --workers {more}"
        if used.cached_tokens:
            cached = 100 * used.cached_tokens / used.input_tokens
            summary += f"; {cached:.0f} % of the prompt tokens came from a cache"
        return f"{summary}."

    def _turn(self) -> None:
        now = self._clock.now()
        if self._is_answering:
            self.answering_s += now - self._since
            self.busy_s += now - self._since if self._calls >= self.number else 0.0
        self._since = now


class TrackedModel:
    def __init__(self, model: Model, in_flight: CallsInFlight, slots: BusySlots) -> None:
        self.name, self._model, self._calls_in_flight, self._slots = model.name, model, in_flight, slots

    async def complete(self, request: Request) -> Completion:
        self._calls_in_flight.add(request.sha256)
        with self._slots.call():
            return await reply_of(self._model, request)

    async def close(self) -> None:
        close = getattr(self._model, "close", None)
        if close is not None:
            await close()
