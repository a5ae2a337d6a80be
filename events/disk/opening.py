"""The only way to open a file that another program may have written: it must be a regular file within a size limit, and
opening never waits.

A pipe without a writer would make a reader wait forever, a device has no end, and a sparse file may claim a terabyte.
So every file is opened here unless this process has just written it itself.
"""

import os
import stat
from io import FileIO
from pathlib import Path

GIB = 1 << 30
LARGEST = 4 * GIB
"""More bytes than any file of a log has: a write-ahead file ends with the append that fills it, which is at most 1
GiB."""
SMALL = 1 << 20
"""More bytes than any file has that holds a person's input or one short record."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class OddFile(OSError):
    """Not a file, or not one that can have the expected content; `strerror` says what it is."""

    def __str__(self) -> str:
        return f"{self.filename} is {self.strerror}"


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """Return a descriptor of a regular file, or of what a link to one leads to. Raises `OddFile`, `OSError`."""
    # Checked first, since merely opening a device may do something, and again once open, since it may be another file
    # by then.
    if not flags & os.O_CREAT or os.path.lexists(path):
        _require_regular(path, os.stat(path))  # noqa: PTH116 (a descriptor or path alike)
    # A pipe would wait for its other end.
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, 0o644)
    try:
        _require_regular(path, os.fstat(fd))
    except OSError:
        os.close(fd)
        raise
    return fd


def opened(path: Path, most: int | None = None) -> FileIO:
    """Return a regular file of at most `most` bytes, unbuffered and opened for reading. Raises `OddFile`, `OSError`."""
    file = FileIO(open_regular(path))
    size = os.fstat(file.fileno()).st_size
    if most is not None and size > most:
        file.close()
        raise OddFile(0, f"a file of {size:,} bytes, where at most {most:,} are expected", str(path))
    return file


def read_small(path: Path, most: int = SMALL) -> bytes:
    """Return what is in a regular file of at most `most` bytes. Raises `OddFile`, `OSError`."""
    with opened(path, most) as file:
        return file.read(most + 1)


def _require_regular(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no file")
        raise OddFile(0, f"{kind}, where a file belongs", str(path))
