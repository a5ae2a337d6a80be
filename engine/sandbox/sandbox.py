"""Running dynamic tools: Starlark in a worker process, one run after another, any number of runs.

Starlark has no files, network, clock, imports or endless loops; its interpreter here is starlark-rust through
`starlark-pyo3`. The worker bounds what the language does not (steps, memory, time): `limits.py`, `worker.py`.

Rules
    - A tool's source defines `run`, whose parameters are the tool's; its arguments are one JSON object.
    - A run ends with a result or a problem, each a reproducible text; nothing that a tool does raises an error here.
    - A worker that dies is replaced, and its current run is repeated.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple

import msgspec

from mage_es.engine.sandbox.limits import ToolLimits
from mage_es.events.errors import PrerequisiteError

_GRACE = 60.0
"""Seconds beyond a tool's own time in which a worker must have started or replied; otherwise it is replaced."""

ToolLanguage = Literal["starlark", "sql"]


class ToolResult(NamedTuple):
    result: str
    problem: str


class Sandbox:
    """A worker process, started at the first run and ended with this object. Runs wait for one another."""

    def __init__(self, limits: ToolLimits | None = None) -> None:
        self.limits = limits or ToolLimits()
        self._lock = Lock()
        self._worker: _Worker | None = None

    def run(self, source: str, arguments: str, *, language: ToolLanguage = "starlark") -> ToolResult:
        """Run a tool's source on a JSON object of arguments. Raises `PrerequisiteError` if no worker starts.

        A source in `sql` is a query: the result is "same" if its rows on `schema` are those of the query `right`.
        """
        problem = self._refused(source, arguments)
        if problem:
            return ToolResult("", problem)
        with self._lock:
            for _ in range(2):
                outcome = self._at_work().run(source, arguments, language)
                if outcome is not None:
                    return outcome
                self.close()
        return ToolResult("", "the sandbox ended in the middle of it, twice")

    def close(self) -> None:
        """End the worker; the next run starts another one."""
        if self._worker is not None:
            self._ending.detach()
            self._worker.end()
            self._worker = None

    @property
    def process_id(self) -> int | None:
        return self._worker.process.pid if self._worker else None

    def _refused(self, source: str, arguments: str) -> str:
        if len(source) > self.limits.source:
            return f"the source is longer than {self.limits.source} characters"
        if len(arguments) > self.limits.arguments:
            return f"the arguments are longer than {self.limits.arguments} characters"
        try:
            source.encode()
            given = json.loads(arguments, parse_constant=_no_number)
        except (ValueError, RecursionError):
            return "the arguments are not JSON"
        return "" if isinstance(given, dict) else "the arguments are not a JSON object"

    def _at_work(self) -> _Worker:
        if self._worker is None:
            self._worker = _Worker(self.limits)
            self._ending = weakref.finalize(self, self._worker.end)
        return self._worker


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


class _Worker:
    def __init__(self, limits: ToolLimits) -> None:
        script = Path(__file__).with_name("worker.py")
        self._timeout_s = limits.wall_seconds + _GRACE
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", str(script), msgspec.json.encode(limits).decode()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,  # Ctrl-C at the terminal is for the parent
            )
        except OSError as error:
            raise PrerequisiteError(f"The sandbox for tools cannot be started: {error}.") from error
        if not self._line():
            self.end()
            raise PrerequisiteError(
                "The sandbox for tools cannot be started. Is its language there? python -m pip install starlark-pyo3"
            )

    def run(self, source: str, arguments: str, language: ToolLanguage) -> ToolResult | None:
        assert self.process.stdin is not None
        request = json.dumps({"source": source, "arguments": arguments, "language": language}) + "\n"
        try:
            self.process.stdin.write(request.encode())
            self.process.stdin.flush()
            said = json.loads(self._line())
        except (OSError, ValueError):
            return None
        return ToolResult(said["result"], said["problem"])

    def end(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # along with its current run
        self.process.wait()
        with suppress(BrokenPipeError):  # an unsent request dies with its worker
            self.process.stdin.close()
        self.process.stdout.close()

    def _line(self) -> bytes:
        assert self.process.stdout is not None
        pipe, line, deadline = self.process.stdout.fileno(), b"", time.monotonic() + self._timeout_s
        while not line.endswith(b"\n"):
            left = max(0.0, deadline - time.monotonic())  # data that is available is read, however late
            if not select.select([pipe], [], [], left)[0]:
                return b""
            part = os.read(pipe, 65536)
            if not part:
                return b""
            line += part
        return line
