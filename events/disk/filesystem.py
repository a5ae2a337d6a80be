"""The log's one door to the disk: a crash explorer passes its own disk, so nothing else may open a file of the log."""

import errno
import functools
import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from mage_es.events.disk.opening import LARGEST, OddFile, open_regular, opened
from mage_es.events.errors import NO_WINDOWS, LogDamaged

try:
    import fcntl
except ImportError as error:
    raise ImportError(NO_WINDOWS) from error


class File(Protocol):
    def write(self, data: bytes | memoryview) -> int:
        """Append as much of `data` as the system takes; return how many bytes that was."""

    def sync(self) -> None:
        """Wait until everything written is on stable storage."""

    def close(self) -> None:
        """Close the file; nothing is synced."""


class Lock(Protocol):
    """An exclusive lock that ends with `release` or with the process, and the text of the file that carries it."""

    def publish(self, text: bytes) -> None:
        """Overwrite the start of the lock file, for other processes on this machine; it is not synced."""

    def release(self) -> None:
        """Release the lock for the next writer."""


class FileSystem(Protocol):
    """What the log needs from a disk. Every method raises `OSError` if the system refuses."""

    def make_folder(self, path: Path) -> None:
        """Create a folder and its parents, durably; an existing one is left unchanged."""

    def names(self, folder: Path) -> list[str]:
        """Return the sorted names in a folder."""

    def exists(self, path: Path) -> bool:
        """Return whether there is a file or folder of this name."""

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        """Return `length` bytes from `offset`, fewer if the file ends sooner; everything if None."""

    def create(self, path: Path) -> File:
        """Create a new file for appending. Raises `FileExistsError`."""

    def append(self, path: Path) -> File:
        """Open an existing file for appending."""

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file, atomically replacing whatever has that name now."""

    def link(self, source: Path, target: Path) -> None:
        """Give a file that never changes a second name, or make a copy where a disk does not allow that."""

    def unlink(self, path: Path) -> None: ...

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on stable storage."""

    def lock(self, path: Path) -> Lock:
        """Take the exclusive lock of a file, creating it. Raises `BlockingIOError` while another holds it."""

    def boot_id(self) -> str:
        """Return what identifies this boot of this machine, or `""` if nothing does."""


class _LocalFile:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, data: bytes | memoryview) -> int:
        return os.write(self._fd, data)

    def sync(self) -> None:
        sync_fully(self._fd)

    def close(self) -> None:
        os.close(self._fd)


class _LocalLock:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def publish(self, text: bytes) -> None:
        os.pwrite(self._fd, text, 0)

    def release(self) -> None:
        # Closing alone is not enough: the kernel's lock belongs to the open file, which a forked process shares.
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        os.close(self._fd)


class LocalFileSystem:
    """The disk of this machine, through unbuffered system calls."""

    def make_folder(self, path: Path) -> None:
        # Parents first, each synced into its own: a folder whose name is lost takes its files with it.
        if not path.is_dir():
            self.make_folder(path.parent)
            path.mkdir(exist_ok=True)
            self.sync_folder(path.parent)

    def names(self, folder: Path) -> list[str]:
        with _named(folder):
            return sorted(os.listdir(folder))  # noqa: PTH208 (names, not paths: half the cost of iterdir)

    def exists(self, path: Path) -> bool:
        return os.path.lexists(path)  # a dangling link stands in for a file, and reading it says so

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        # Unbuffered, since a reader must see what is in the file now, and reads it once.
        with _named(path), opened(path, LARGEST) as file:
            file.seek(offset)
            if length is None:
                return file.readall()
            parts = []
            while length and (part := file.read(length)):
                parts.append(part)
                length -= len(part)
            return b"".join(parts)

    def create(self, path: Path) -> File:
        # O_EXCL: a taken name means two writers or leftovers, never a file to continue.
        return _LocalFile(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))

    def append(self, path: Path) -> File:
        with _named(path):
            return _LocalFile(open_regular(path, os.O_WRONLY | os.O_APPEND))

    def rename(self, source: Path, target: Path) -> None:
        with _named(target):
            source.replace(target)

    def link(self, source: Path, target: Path) -> None:
        with _named(source):
            try:
                target.hardlink_to(source)
            except OSError as error:
                # Another disk, one without links, or a file that has as many as it can.
                if error.errno not in (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
                    raise
                write_new(self, target, self.read(source))

    def unlink(self, path: Path) -> None:
        path.unlink()

    def sync_folder(self, path: Path) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # A file's own sync does not make its name durable; the folder's does.
            os.fsync(fd)
        finally:
            os.close(fd)

    def lock(self, path: Path) -> Lock:
        with _named(path):
            fd = open_regular(path, os.O_RDWR | os.O_CREAT)
        try:
            # flock, not a lock file: the kernel releases it when the process ends, however that happens.
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise
        return _LocalLock(fd)

    def boot_id(self) -> str:
        return boot_of_machine(Path("/proc/sys/kernel/random/boot_id"))


@functools.cache
def boot_of_machine(source: Path) -> str:
    """Return what identifies this boot of the machine: Linux has it in a file, macOS behind `sysctl`."""
    if source.exists():
        return source.read_text().strip()
    try:
        asked = subprocess.run(["sysctl", "-n", "kern.bootsessionuuid"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return asked.stdout.strip()


def sync_fully(fd: int, full: int | None = getattr(fcntl, "F_FULLFSYNC", None)) -> None:
    """Bring a file to stable storage. On macOS fsync alone leaves data in the drive's cache, while `full` does not.
    fdatasync skips timestamps, which saves a journal write per commit, but includes the size.
    """
    if full is not None:
        try:
            fcntl.fcntl(fd, full)
        except OSError as error:
            # Shared folders and some other disks do not support it.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOTTY):
                raise
        else:
            return
    getattr(os, "fdatasync", os.fsync)(fd)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the file's name to a failure, since a failed read names none. Raises `LogDamaged` for anything but a file."""
    try:
        yield
    except (OddFile, NotADirectoryError) as error:
        what = error.strerror if isinstance(error, OddFile) else "not a folder, or inside something that is not one"
        raise LogDamaged(f"{path} is {what}. Restore it from a copy of the run.") from error
    except OSError as error:
        if path.is_symlink() and error.errno in (errno.ENOENT, errno.ELOOP):
            raise LogDamaged(f"{path} is a link that leads to no file. Restore it from a copy of the run.") from error
        error.filename = error.filename or str(path)
        raise


def write_all(file: File, data: bytes) -> None:
    written = 0
    while written < len(data):
        taken = file.write(memoryview(data)[written:] if written else data)
        # A full disk may show as a write of zero bytes: without this the loop would not end.
        if taken <= 0:
            raise OSError(f"the system accepted none of {len(data) - written} bytes")
        written += taken


def write_temporary(fs: FileSystem, path: Path, data: bytes | Iterable[bytes]) -> Path:
    temporary = path.with_name(path.name + TEMPORARY)
    # A crash left it behind; it was never renamed, so it means nothing.
    if fs.exists(temporary):
        fs.unlink(temporary)
    file = fs.create(temporary)
    try:
        for part in (data,) if isinstance(data, bytes) else data:
            write_all(file, part)
        file.sync()
    finally:
        file.close()
    return temporary


def write_new(fs: FileSystem, path: Path, data: bytes | Iterable[bytes]) -> None:
    """Replace a file by data, whole or in parts, durably and atomically: temporary file, sync, rename, sync of the
    folder."""
    # Synced before the rename: a name must never point at data that a power cut can empty.
    fs.rename(write_temporary(fs, path, data), path)
    fs.sync_folder(path.parent)


# A crash may leave files of this name; they mean nothing, and recovery removes them.
TEMPORARY = ".tmp"
