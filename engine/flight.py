"""Calls in flight: how many were under way when a process ended, so that the next one can say what it makes again.

Rules
    - Nothing follows from it but a sentence: what is made again is decided by the log alone.
    - It is written without waiting for the disk, twice a call. A process that is killed leaves a true number behind;
      after a loss of power, or in a copy of a run, the boot id differs or the file is not there, and that is said.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from mage_es.engine.models.seam import Completion, Model, Request
from mage_es.events.filesystem import LocalFileSystem

_SIZE = 48
"""Bytes: a number, and the boot id of the machine."""


class Flight:
    """The calls of one process that are begun and not recorded yet, kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path, self._boot = path, LocalFileSystem().boot_id()
        self._file: int | None = None
        self._calls: Counter[str] = Counter()
        self._count = 0
        self.left_behind = self._read()

    def _read(self) -> str:
        """Return in words how many calls were in flight when the last process ended."""
        unknown = "not known (this is a copy of the run, or the machine was started again)"
        try:
            number, _, boot = self._path.read_text().partition(" ")
        except FileNotFoundError:
            return unknown
        return number if self._boot and boot.strip() == self._boot else unknown

    def begin(self, request_sha256: str) -> None:
        """Note that a request is on its way."""
        self._calls[request_sha256] += 1
        self._write(self._count + 1)

    def land(self, request_sha256: str) -> None:
        """Note that what a request came to is durable; one that never began here changes nothing."""
        begun = self._calls.pop(request_sha256, 0)
        if begun > 1:
            self._calls[request_sha256] = begun - 1
        if begun:
            self._write(self._count - 1)

    def close(self) -> None:
        """Close the file, which stays."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, count: int) -> None:
        self._count = count
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(self._file, f"{count} {self._boot}\n".ljust(_SIZE).encode(), 0)


class Watched:
    """A model whose calls are noted as they are begun."""

    def __init__(self, model: Model, flight: Flight) -> None:
        self.name, self._model, self._flight = model.name, model, flight

    async def complete(self, request: Request) -> Completion:
        """Return the model's reply."""
        self._flight.begin(request.sha256)
        return await self._model.complete(request)

    async def close(self) -> None:
        """Close what the model keeps open, if it keeps anything."""
        close = getattr(self._model, "close", None)
        if close is not None:
            await close()
