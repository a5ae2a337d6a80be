"""Calling a function in a separate process: if it raises, hangs, exits or eats memory, the caller is unharmed and
learns what happened.

Rules
    - A function with an importable name runs in a fresh interpreter, which imports it. Any other function (from a
      notebook, the running script, a closure) runs in a fork, and sees everything that it refers to as it was at the
      fork. On macOS, where forking is not safe, it runs in a thread of this process: a thread that exceeds its limit is
      abandoned, since it cannot be killed, and a function that exits or eats memory takes this process down with it.
    - A process is started at the first call and kept for later calls; as many calls run at once as there are cores. If
      a call does not return in time, its process is killed with everything that it started, and the next call starts
      another.
    - The process has no terminal: its input is empty, its output goes to standard error, and Ctrl-C does not reach it.
      It ends when the calling process ends, in whatever way that happens.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol

from mage_es.events.errors import PrerequisiteError, last_line

_START_S = 300.0
"""Seconds in which a process must be ready; its imports may load a model."""
_MAIN = "import sys; sys.path[:] = sys.argv[2:]; from mage_es.engine.sandbox.apart import main; main(int(sys.argv[1]))"


class Unreturned(Exception):
    """A call that returned nothing; the text is the last line of what the function raised, or why it was killed."""


class _Said(NamedTuple):
    value: Any
    problem: str


class _Place(Protocol):
    """A place where a function runs, one call at a time."""

    def ask(self, values: Sequence[Any], seconds: float) -> _Said:
        """Return the function's result. If there is none, it raises `Unreturned`, and the place cannot be used
        again."""

    def end(self) -> None:
        """End it, even in the middle of a call."""


class Apart:
    """A function that is called in separate processes: fresh ones, to which it is pickled, if it `is_importable`. Calls
    may come from any thread; `seconds` may change.
    """

    def __init__(self, function: Callable[..., Any], seconds: float, *, is_importable: bool) -> None:
        self.seconds = seconds
        self._function, self._is_importable = function, is_importable
        self._lock, self._room = threading.Lock(), threading.BoundedSemaphore(os.cpu_count() or 1)
        self._idle: list[_Place] = []
        self._all: set[_Place] = set()
        self._ending = weakref.finalize(self, _end, self._all)

    def __call__(self, *values: Any) -> Any:
        """Return what the function returns.

        Raises:
            Unreturned: It raised, took too long, or ended its process.
            PrerequisiteError: No process could be started.
        """
        with self._room:
            place = self._free()
            try:
                said = place.ask(values, self.seconds)
            except BaseException:  # also Ctrl-C: a process in the middle of a call would answer the next one with it
                self._all.discard(place)
                place.end()
                raise
            with self._lock:
                self._idle.append(place)
        if said.problem:
            raise Unreturned(said.problem)
        return said.value

    def close(self) -> None:
        """End all processes; the next call starts another."""
        with self._lock:
            self._idle.clear()
        _end(self._all)

    def _free(self) -> _Place:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            place = self._started()
            self._all.add(place)
            return place

    def _started(self) -> _Place:
        if self._is_importable:
            return _Fresh(pickle.dumps(self._function))
        return _Here(self._function) if sys.platform == "darwin" else _Forked(self._function)


def _end(places: set[_Place]) -> None:
    while places:
        places.pop().end()


class _Process:
    """A process at the other end of a connection."""

    def __init__(self, process_id: int, connection: Connection) -> None:
        self._process_id, self._connection = process_id, connection
        self._status: int | None = None

    def begin(self, function: bytes = b"") -> None:
        try:
            self._connection.send_bytes(function)
            if self._connection.poll(_START_S):
                self._connection.recv()
                return
        except (EOFError, OSError):
            pass
        self.end()
        raise PrerequisiteError(f"The process of a scorer did not start: {self._death()}. Its output says why.")

    def ask(self, values: Sequence[Any], seconds: float) -> _Said:
        try:
            self._connection.send(values)
            if not self._connection.poll(seconds):
                raise Unreturned(f"nothing was returned within {seconds:g} s")
            return _Said(*self._connection.recv())
        except (EOFError, OSError):
            self.end()
            raise Unreturned(self._death()) from None

    def end(self) -> None:
        if self._status is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process_id, signal.SIGKILL)  # along with what it started
            self._status = self._wait()
            self._connection.close()

    def _wait(self) -> int:
        _, status = os.waitpid(self._process_id, 0)
        return os.waitstatus_to_exitcode(status)

    def _death(self) -> str:
        code = self._status or 0
        if code >= 0:
            return f"its process exited with code {code}"
        hint = ", as the system does where memory is short" if -code == signal.SIGKILL else ""
        return f"its process was ended by signal {-code}{hint}"


class _Fresh(_Process):
    def __init__(self, function: bytes) -> None:
        mine, other = Pipe()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, str(other.fileno()), *sys.path],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,
                start_new_session=True,
            )
        super().__init__(self._process.pid, mine)
        self.begin(function)

    def _wait(self) -> int:
        return self._process.wait()


class _Forked(_Process):
    def __init__(self, function: Callable[..., Any]) -> None:
        mine, other = Pipe()
        for stream in (sys.stdout, sys.stderr):  # otherwise the child would write their buffered content again
            stream.flush()
        process_id = os.fork()
        if process_id == 0:
            try:
                mine.close()
                os.setsid()
                signal.set_wakeup_fd(-1)  # an event loop's, which would mistake this process's signals for its own
                other.recv_bytes()
                _serve(other, function)
            finally:
                os._exit(1)
        other.close()
        super().__init__(process_id, mine)
        self.begin()


class _Here:
    """A thread for each call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def ask(self, values: Sequence[Any], seconds: float) -> _Said:
        said: SimpleQueue[_Said] = SimpleQueue()
        threading.Thread(target=lambda: said.put(_outcome(self._function, values)), daemon=True).start()
        try:
            return said.get(timeout=seconds)
        except Empty:
            raise Unreturned(f"nothing was returned within {seconds:g} s") from None

    def end(self) -> None:
        """Abandon its thread, which cannot be killed."""


def main(connection: int) -> None:
    """Serve the function that arrives first on a connection."""
    mine = Connection(connection)
    _serve(mine, pickle.loads(mine.recv_bytes()))


def _serve(connection: Connection, function: Callable[..., Any]) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    # A notebook's streams, for example, are not files, and lead to the parent process.
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = sys.stdout
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(OSError):  # the first to go if memory is short
        Path("/proc/self/oom_score_adj").write_text("1000")
    asked: SimpleQueue[Sequence[Any]] = SimpleQueue()

    def read() -> None:
        # In a separate thread, so that the other process's end also ends this one, whatever it is doing.
        try:
            while True:
                asked.put(connection.recv())
        finally:
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    connection.send(None)
    while True:
        said = _outcome(function, asked.get())
        try:
            connection.send(said)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            connection.send(_Said(None, last_line(error)))


def _outcome(function: Callable[..., Any], values: Sequence[Any]) -> _Said:
    try:
        return _Said(function(*values), "")
    except BaseException as error:  # also SystemExit, which would end more than the call
        return _Said(None, last_line(error))
