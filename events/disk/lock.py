"""The writer's lock, and the watermark in its file that tells readers how far the log is on stable storage."""

import os
from pathlib import Path

import google_crc32c

from mage_es.events.disk.filesystem import FileSystem, Lock
from mage_es.events.errors import RunLocked

_MARK = 30
_SIZE = 128


class WriterLock:
    """The exclusive right to write a log. Raises `RunLocked` at construction while another process has it."""

    def __init__(self, fs: FileSystem, path: Path) -> None:
        try:
            self._lock: Lock = fs.lock(path)
        except BlockingIOError as error:
            shown = fs.read(path, _MARK, _SIZE).decode(errors="replace").strip()
            if shown.startswith(f"pid {os.getpid()},"):
                raise RunLocked(
                    f"this process ({shown}) is already writing {path.parent}. Wait until it is done, or stop it."
                ) from error
            raise RunLocked(
                f"another process is writing {path.parent} ({shown}). Wait until it is done or stop it; "
                "its lock ends with it."
            ) from error
        holder = f"pid {os.getpid()}, boot {fs.boot_id()}\n".encode()
        # Keep the previous writer's watermark: readers rely on it until this one appends.
        self._lock.publish(_mark(watermark(fs, path)) + holder.rjust(_SIZE - _MARK))

    def publish(self, seq: int) -> None:
        self._lock.publish(_mark(seq))

    def release(self) -> None:
        self._lock.release()


def watermark(fs: FileSystem, path: Path) -> int:
    """Return the last sequence number that a writer has called durable since this machine started, 0 if none has."""
    # A process that is killed leaves a true watermark behind; after a power cut the boot id differs, and HEAD counts.
    text = fs.read(path, 0, _SIZE) if fs.exists(path) else b""
    # Written in place and without a sync: the checksum shows whether it is torn.
    number, boot = text[:20], fs.boot_id()
    trusted = number.isdigit() and text.startswith(_mark(int(number))) and bool(boot)
    return int(number) if trusted and text.rstrip().endswith(f", boot {boot}".encode()) else 0


def _mark(seq: int) -> bytes:
    number = b"%020d" % seq
    return b"%s %08x " % (number, google_crc32c.value(number))


def is_running(pid: int) -> bool:
    """Return whether a process of this machine is running, under any user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # It runs as another user.
    except PermissionError:
        return True
    return True
