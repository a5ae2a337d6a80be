"""Disks to run the real log code on: one that refuses on demand, and one that forgets what was not synced.

`ForgetfulDisk` keeps files in memory, apart from what would survive a loss of power: the synced bytes of a file and the
synced names of a folder. Of the rest a crash keeps what chance decides: a prefix of the writes, the last one torn or
partly zeros; of the names an in-order prefix, or any subset. A killed process loses nothing that it has written.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from random import Random

from mage_es.events.filesystem import File, LocalFileSystem, Lock


class Crash(BaseException):
    """The process ends here."""


class _WatchedFile:
    def __init__(self, file: File, disk: RefusingDisk) -> None:
        self._file = file
        self._disk = disk

    def write(self, data: bytes | memoryview) -> int:
        if self._disk.short_writes and len(data) > 1:
            data = data[: len(data) // 2]
        if self._disk.refuses("write"):
            self._file.write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._file.write(data)

    def sync(self) -> None:
        if self._disk.refuses("sync"):
            raise OSError(errno.EIO, "Input/output error")
        self._file.sync()

    def truncate(self, size: int) -> None:
        self._file.truncate(size)

    def close(self) -> None:
        self._file.close()


class RefusingDisk(LocalFileSystem):
    """The real disk, until `refuse` names an effect; with `short_writes` a write takes half of what it is given."""

    def __init__(self, *, short_writes: bool = False) -> None:
        self.short_writes = short_writes
        self.refuse: str | None = None

    def refuses(self, effect: str) -> bool:
        return self.refuse == effect

    def create(self, path: Path) -> File:
        if self.refuses("create"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return _WatchedFile(super().create(path), self)

    def append(self, path: Path) -> File:
        return _WatchedFile(super().append(path), self)


class _Inode:
    def __init__(self) -> None:
        self.synced = b""
        self.current = b""
        self.pending: list[bytes | int] = []  # bytes: appended; a number: truncated to it


Change = tuple[str, _Inode | None]


class _Folder:
    def __init__(self) -> None:
        self.synced: dict[str, _Inode] = {}
        self.current: dict[str, _Inode] = {}
        self.pending: list[list[Change]] = []

    def change(self, *changes: Change) -> None:
        apply(self.current, changes)
        self.pending.append(list(changes))


def apply(names: dict[str, _Inode], changes: tuple[Change, ...] | list[Change]) -> None:
    for name, inode in changes:
        if inode is None:
            names.pop(name, None)
        else:
            names[name] = inode


class ForgetfulDisk:
    """A file system in memory. `fuse` counts down with every effect; at zero the process crashes in the middle of it.

    `ignores_sync` makes it one that only pretends to sync: files by suffix, folders by name.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._folders: dict[Path, _Folder] = {}
        self._locked: set[Path] = set()
        self._boots = 0
        self.fuse: int | None = None
        self.ignores_sync: Callable[[str], bool] = lambda what: False

    def effect(self) -> bool:
        """Return whether this effect is the one at which the process crashes."""
        if self.fuse is None:
            return False
        self.fuse -= 1
        return self.fuse < 0

    def crash(self, *, power: bool) -> None:
        """End the process: locks are free again, and with a loss of power everything unsynced is up to chance."""
        self._locked.clear()
        self.fuse = None
        if not power:
            return
        self._boots += 1
        inodes = {id(inode): inode for folder in self._folders.values() for inode in folder.current.values()}
        inodes |= {id(inode): inode for folder in self._folders.values() for inode in folder.synced.values()}
        for inode in inodes.values():
            self._forget_bytes(inode)
        for folder in self._folders.values():
            self._forget_names(folder)

    def _forget_bytes(self, inode: _Inode) -> None:
        kept = inode.pending[: self._random.randint(0, len(inode.pending))]
        data = inode.synced
        for number, change in enumerate(kept):
            if isinstance(change, int):
                data = data[:change]
            elif number == len(kept) - 1:
                cut = self._random.randint(0, len(change))
                data += change[:cut] + bytes(self._random.choice((0, 0, len(change) - cut)))
            else:
                data += change
        inode.synced = inode.current = data
        inode.pending = []

    def _forget_names(self, folder: _Folder) -> None:
        names = dict(folder.synced)
        if self._random.random() < 0.5:
            kept = folder.pending[: self._random.randint(0, len(folder.pending))]
        else:
            kept = [change for change in folder.pending if self._random.random() < 0.5]
        for change in kept:
            apply(names, change)
        folder.synced, folder.current, folder.pending = names, dict(names), []

    # ------------------------------------------------------------ FileSystem

    def make_folder(self, path: Path) -> None:
        for folder in (path, *path.parents):
            self._folders.setdefault(folder, _Folder())

    def names(self, folder: Path) -> list[str]:
        return sorted(self._folders[folder].current)

    def exists(self, path: Path) -> bool:
        if path in self._folders:
            return True
        return path.parent in self._folders and path.name in self._folder(path).current

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        data = self._inode(path).current[offset:]
        return data if length is None else data[:length]

    def create(self, path: Path) -> File:
        if path.name in self._folder(path).current:
            raise FileExistsError(path)
        crashes = self.effect()
        inode = _Inode()
        if not crashes or self._random.random() < 0.5:
            self._folder(path).change((path.name, inode))
        if crashes:
            raise Crash
        return _MemoryFile(self, inode, path)

    def append(self, path: Path) -> File:
        return _MemoryFile(self, self._inode(path), path)

    def rename(self, source: Path, target: Path) -> None:
        crashes = self.effect()
        if not crashes or self._random.random() < 0.5:
            self._folder(source).change((source.name, None), (target.name, self._inode(source)))
        if crashes:
            raise Crash

    def unlink(self, path: Path) -> None:
        self._inode(path)
        crashes = self.effect()
        if not crashes or self._random.random() < 0.5:
            self._folder(path).change((path.name, None))
        if crashes:
            raise Crash

    def sync_folder(self, path: Path) -> None:
        if self.effect():
            raise Crash
        if path in self._folders and not self.ignores_sync(path.name):
            folder = self._folders[path]
            folder.synced, folder.pending = dict(folder.current), []

    def lock(self, path: Path) -> Lock:
        if path in self._locked:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        self._locked.add(path)
        inode = self._folder(path).current.get(path.name)
        if inode is None:
            inode = _Inode()
            self._folder(path).change((path.name, inode))
        return _MemoryLock(self, inode, path)

    def free_space(self, path: Path) -> int:
        return 1 << 40

    def boot_id(self) -> str:
        return f"boot-{self._boots}"

    def unlock(self, path: Path) -> None:
        self._locked.discard(path)

    def _folder(self, path: Path) -> _Folder:
        if path.parent not in self._folders:
            raise FileNotFoundError(path)
        return self._folders[path.parent]

    def _inode(self, path: Path) -> _Inode:
        inode = self._folder(path).current.get(path.name)
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, "No such file", str(path))
        return inode

    def draw(self, most: int) -> int:
        """Return how much of `most` bytes a write that crashes gets done."""
        return self._random.randint(0, most)


class _MemoryFile:
    def __init__(self, disk: ForgetfulDisk, inode: _Inode, path: Path) -> None:
        self._disk = disk
        self._inode = inode
        self._path = path

    def write(self, data: bytes | memoryview) -> int:
        crashes = self._disk.effect()
        taken = bytes(data[: self._disk.draw(len(data))] if crashes else data)
        self._inode.current += taken
        self._inode.pending.append(taken)
        if crashes:
            raise Crash
        return len(taken)

    def sync(self) -> None:
        if self._disk.effect():
            raise Crash
        if not self._disk.ignores_sync(self._path.suffix):
            self._inode.synced, self._inode.pending = self._inode.current, []

    def truncate(self, size: int) -> None:
        if self._disk.effect():
            raise Crash
        self._inode.current = self._inode.current[:size]
        self._inode.pending.append(size)

    def close(self) -> None:
        pass


class _MemoryLock:
    def __init__(self, disk: ForgetfulDisk, inode: _Inode, path: Path) -> None:
        self._disk = disk
        self._inode = inode
        self._path = path

    def publish(self, text: bytes) -> None:
        self._inode.current = text + self._inode.current[len(text) :]
        self._inode.pending = [0, self._inode.current]

    def release(self) -> None:
        self._disk.unlock(self._path)
