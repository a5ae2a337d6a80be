"""What is not a file, or far more of one than anybody would write, put where a file belongs."""

import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import google_crc32c

from mage_es.cli import main
from mage_es.events import wal
from mage_es.projections.snapshot_files import ended

DEEP = 2_000_000
TERABYTE = 1 << 40
PATIENCE_S = 1800
"""Only for what would wait for ever: no command that is not stuck needs as long on any machine."""


def _pipe(path: Path, before: bytes) -> None:
    os.mkfifo(path)


def _socket(path: Path, before: bytes) -> None:
    # A path may be too long for a socket's address, its name never is.
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def _endless(path: Path, before: bytes) -> None:
    path.symlink_to("/dev/zero")


def _terabyte(path: Path, before: bytes) -> None:
    with path.open("wb") as file:
        file.truncate(TERABYTE)


def _unreadable(path: Path, before: bytes) -> None:
    path.symlink_to(path.name)  # a link to itself: no mode keeps a superuser out


def _folder(path: Path, before: bytes) -> None:
    path.mkdir()


def _deep(path: Path, before: bytes) -> None:
    """Write what nests two million levels deep, with every checksum and chain value that its place asks for."""
    nested = b"\x91" * DEEP + b"\x01"
    body = b'{"format":1,"seq":1,"chain":"","x":' + b"[" * DEEP + b"]" * DEEP
    if path.suffix == ".msgpack":
        path.write_bytes(ended(nested))
    elif path.suffix == ".wal":
        previous = wal.previous_in(before[: wal.HEADER_SIZE])
        frame, _ = wal.encode(b"\x93\x01\x80" + nested, first=int(path.stem), count=1, previous=previous)
        path.write_bytes(frame)
    else:
        path.write_bytes(body + b',"crc32c":"%08x"}\n' % google_crc32c.value(body))


ODD: dict[str, Callable[[Path, bytes], None]] = {
    "pipe": _pipe,
    "socket": _socket,
    "endless": _endless,
    "terabyte": _terabyte,
    "unreadable": _unreadable,
    "folder": _folder,
    "deep": _deep,
}
"""By name, what puts something odd at a path where nothing is."""


def put(kind: str, path: Path) -> None:
    """Put something odd in the place of a path, whatever is there."""
    before = path.read_bytes() if path.is_file() else b""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    ODD[kind](path, before)


@contextmanager
def not_for_ever(what: str) -> Iterator[None]:
    """Raise `AssertionError` in what waits for ever."""

    def stuck(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"{what} waits for ever")

    before = signal.signal(signal.SIGALRM, stuck)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# ------------------------------------------------------------ commands on a run with something odd in it


class Told(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


COMMANDS: Sequence[tuple[str, ...]] = (
    ("verify", "odd"),
    ("runs", "show", "odd"),
    ("verify", "odd", "--repair"),
    ("resume", "odd"),
    ("ask", "How many are 3 and 4?", "odd"),
    ("memory", "list", "odd"),
    ("backup", "odd", "saved"),
    ("exam", "odd", "--questions", "5"),
    ("replay", "odd"),
    ("export", "odd", "--to", "exported", "--format", "csv"),
    ("verify", "odd", "--repair", "--yes"),
    ("show", "wordmath-evolution-1", "odd"),
    ("log", "odd"),
    ("runs", "delete", "odd", "--yes"),
)
"""What is done with a run that has something odd in it."""
EVERYWHERE: Sequence[tuple[str, ...]] = (("runs", "list"), ("report", "runs"), ("view", "--to", "seen"))
"""What is done with all runs, of which one is odd."""
CODES = range(6)
"""The exit codes of cli/README.md that are no interruption."""


def run_command(words: Sequence[str]) -> Told:
    """Run a command line in this process and folder. Raises `AssertionError` where it waits for ever."""
    out, err = StringIO(), StringIO()
    with not_for_ever(" ".join(words)), redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
        except SystemExit as exited:
            return Told(int(exited.code or 0), out.getvalue(), err.getvalue())


def places(run: Path) -> list[str]:
    """Return where something odd can lie in a run: each of its files and folders, and those that it could have."""
    there = [str(path.relative_to(run)) for path in sorted(run.rglob("*")) if path.name != "LOCK"]
    span = f"{99_999:020d}-{100_000:020d}"
    could = ["keys", "beginning", "in-flight", "replays", "exams/odd", f"log/seg/{span}.parquet", "log/wal/odd", "odd"]
    return sorted({*there, *could, "log/LOCK"})


def require_told(place: str, kind: str, words: Sequence[str]) -> None:
    """Run a command where the run `odd` has something odd and `whole` has nothing.

    Raises `AssertionError` unless it ends with a clear line, and shows the other run where it shows all.
    """
    case = f"{kind} at {place}: {' '.join(words)}"
    try:
        told = run_command(words)
    except Exception as error:
        raise AssertionError(f"{case}: {error!r}") from error
    assert told.code in CODES, f"{case}: exit code {told.code}"
    assert "is a bug in" not in told.err and "Traceback" not in told.err, f"{case}: {told.err[-400:]}"
    assert told.code == 0 or told.err.strip(), f"{case}: exit code {told.code} and no word"
    if words in EVERYWHERE:
        assert told.code == 0, f"{case}: {told.err[-400:]}"
        assert words[0] == "view" or "whole" in told.out + told.err, f"{case}: it hides the other run"
