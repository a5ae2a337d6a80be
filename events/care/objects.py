"""Where backups are kept: named objects that are written once and never changed, and a folder that holds such
objects."""

import hashlib
import stat
from pathlib import Path
from typing import NamedTuple, Protocol

from mage_es.events.disk.filesystem import TEMPORARY, FileSystem, write_new
from mage_es.events.errors import PrerequisiteError, SequenceConflict

_LOCK = ".lock"


class Listed(NamedTuple):
    """What a place knows about an object without sending it: its size in bytes and perhaps its MD5."""

    size: int
    md5: str


class ObjectSource(Protocol):
    """Named bytes to read. `place` is what people call the store; names are relative paths with slashes."""

    place: str

    def names(self) -> list[str]:
        """Return the names of all objects, sorted. Raises `PrerequisiteError` if the store cannot be reached."""

    def read(self, name: str) -> bytes:
        """Return an object. Raises `FileNotFoundError`, `PrerequisiteError`."""


class Objects(ObjectSource, Protocol):
    """Named bytes to read and write."""

    def listed(self) -> dict[str, Listed]:
        """Return what the place says about each object. Raises what `names` raises."""

    def replace(self, name: str, data: bytes) -> None:
        """Store an object durably in place of a damaged one. Raises `PrerequisiteError`, `OSError`."""

    def create(self, name: str, data: bytes) -> None:
        """Store a new object durably. Raises `FileExistsError`, and `PrerequisiteError` or `OSError` otherwise."""


# Without an object-store library, because those do not sync what they write to a local disk.
class FolderObjects:
    """Objects as files of a folder, which is created with the first one."""

    def __init__(self, folder: Path, fs: FileSystem) -> None:
        self.place = str(folder)
        self._folder = folder
        self._fs = fs

    def names(self) -> list[str]:
        return sorted(self.listed())

    def listed(self) -> dict[str, Listed]:
        found = {}
        for path in self._folder.rglob("*"):
            name = path.relative_to(self._folder).as_posix()
            if name == _LOCK or name.endswith(TEMPORARY):
                continue  # ours, not objects
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue  # removed since the folder was read
            # Not a folder: reading it says what it is.
            if not stat.S_ISDIR(status.st_mode):
                found[name] = Listed(status.st_size, "")
        return found

    def read(self, name: str) -> bytes:
        return self._fs.read(self._folder / name)

    def create(self, name: str, data: bytes) -> None:
        self._write(name, data, is_new=True)

    def replace(self, name: str, data: bytes) -> None:
        self._write(name, data, is_new=False)

    def _write(self, name: str, data: bytes, *, is_new: bool) -> None:
        path = self._folder / name
        self._make_folder(path.parent)
        try:
            # Under the lock, looking and renaming are one step: two backups cannot both find the name free.
            lock = self._fs.lock(self._folder / _LOCK)
        except BlockingIOError as error:
            raise PrerequisiteError(f"another backup is being written to {self.place}: wait until it ends.") from error
        try:
            if is_new and self._fs.exists(path):
                raise FileExistsError(f"{path} exists")
            write_new(self._fs, path, data)
        finally:
            lock.release()

    def _make_folder(self, folder: Path) -> None:
        # Checked before they are created: only new names need syncing into their parents.
        missing = [path for path in (folder, *folder.parents) if not self._fs.exists(path)]
        self._fs.make_folder(folder)
        for path in missing:
            self._fs.sync_folder(path.parent)


def create_once(objects: Objects, name: str, data: bytes) -> bool:
    """Store an object, unless the same one is already there; return whether it is new.

    Raises `SequenceConflict` if other bytes have this name, and what `Objects.create` raises.
    """
    try:
        objects.create(name, data)
    except FileExistsError:
        if _sha256(objects.read(name)) != _sha256(data):
            raise SequenceConflict(
                f"{objects.place} has another {name} than this log: it is damaged, or belongs to another run or to a "
                "copy that was continued separately. Back up to another place."
            ) from None
        return False
    except (PrerequisiteError, OSError):
        try:
            # It may have been stored although the answer was lost: the bytes decide.
            stored = objects.read(name)
        except (FileNotFoundError, PrerequisiteError, OSError):
            stored = None
        if stored is None or _sha256(stored) != _sha256(data):
            raise
    return True


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
