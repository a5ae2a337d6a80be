"""What is not a file, or far more of one than anybody would write, put where a file belongs."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import google_crc32c

from mage_es.projections.snapshots import kept_as

DEEP = 2_000_000
TERABYTE = 1 << 40
PATIENCE_S = 60
"""Only for what would wait for ever: no command that is not stuck needs as long on any machine."""


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    # A path may be too long for a socket's address, its name never is.
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _terabyte(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(TERABYTE)


def _unreadable(path: Path) -> None:
    path.symlink_to(path.name)  # a link to itself: no mode keeps a superuser out


def _folder(path: Path) -> None:
    path.mkdir()


def _deep(path: Path) -> None:
    """Write what nests two million levels deep, with every checksum that its name asks for."""
    if path.suffix == ".msgpack":
        path.write_bytes(kept_as(b"\x91" * DEEP + b"\x01"))
        return
    body = b'{"format":1,"seq":1,"chain":"","x":' + b"[" * DEEP + b"]" * DEEP
    path.write_bytes(body + b',"crc32c":"%08x"}\n' % google_crc32c.value(body))


ODD: dict[str, Callable[[Path], None]] = {
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
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    ODD[kind](path)


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
