"""Disks to run the real log code on: one that refuses on demand, and one that forgets what was not synced.

`ForgetfulDisk` keeps files in memory, apart from what would survive a loss of power: the synced bytes of a file and the
synced names of a folder. Of the rest a crash keeps what chance decides: of the writes any, each of them whole or torn,
with zeros where one is missing before another that is not; of the names an in-order prefix, or any subset. After a sync
that failed, a process sees bytes that no later sync brings to the disk. A killed process loses nothing that it has
written.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

from mage_es.events.disk import File, LocalFileSystem, Lock


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
        self._disk.syncs.wait()
        if self._disk.refuses("sync"):
            raise OSError(errno.EIO, "Input/output error")
        self._file.sync()

    def close(self) -> None:
        self._file.close()


class RefusingDisk(LocalFileSystem):
    """The real disk, until `refuse` names an effect; with `short_writes` a write takes half of what it is given, and
    while `syncs` is not set a sync takes its time.
    """

    def __init__(self, *, short_writes: bool = False) -> None:
        self.short_writes = short_writes
        self.refuse: str | None = None
        self.syncs = threading.Event()
        self.syncs.set()

    def refuses(self, effect: str) -> bool:
        return self.refuse == effect

    def create(self, path: Path) -> File:
        if self.refuses("create"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return _WatchedFile(super().create(path), self)

    def append(self, path: Path) -> File:
        return _WatchedFile(super().append(path), self)


class _Inode:
    """A file's bytes: what is synced, what a process sees, and the writes in between as (offset, bytes).

    `doomed` are ranges whose sync failed: the system calls them clean, so later syncs leave them out.
    """

    def __init__(self) -> None:
        self.synced = b""
        self.current = b""
        self.pending: list[tuple[int, bytes]] = []
        self.doomed: list[tuple[int, int]] = []

    def write(self, offset: int, data: bytes) -> None:
        self.current = self.current[:offset] + data + self.current[offset + len(data) :]
        self.pending.append((offset, data))

    def sync(self) -> None:
        self.synced, self.pending = self.current, []

    def fail_to_sync(self) -> None:
        self.doomed += [(offset, offset + len(data)) for offset, data in self.pending]
        self.sync()

    def forget(self, random: Random) -> None:
        """Keep of every write all, nothing, its beginning or its end; where nothing was before, zeros show."""
        data = bytearray(self.synced)
        for start, stop in self.doomed:
            if random.random() < 0.7:
                data[start:stop] = bytes(stop - start)
        for offset, chunk in self.pending:
            data.extend(bytes(max(0, offset + len(chunk) - len(data))))
            cut = random.randint(0, len(chunk))
            start, stop = random.choice(((0, len(chunk)), (0, len(chunk)), (0, 0), (0, cut), (cut, len(chunk))))
            data[offset + start : offset + stop] = chunk[start:stop]
        if random.random() < 0.5:
            del data[random.randint(len(self.synced), len(data)) :]
        self.synced = self.current = bytes(data)
        self.pending, self.doomed = [], []


Change = tuple[str, _Inode | None]


class _Folder:
    """Names: what is synced, what a process sees, and the changes in between, each of them atomic."""

    def __init__(self) -> None:
        self.synced: dict[str, _Inode] = {}
        self.current: dict[str, _Inode] = {}
        self.pending: list[list[Change]] = []

    def change(self, *changes: Change) -> None:
        _apply(self.current, changes)
        self.pending.append(list(changes))

    def sync(self) -> None:
        self.synced, self.pending = dict(self.current), []

    def fail_to_sync(self) -> None:
        """Leave all as it was: names are journalled, so a later sync does bring them to the disk."""

    def forget(self, random: Random) -> None:
        """Keep a prefix of the changes, or any of them."""
        if random.random() < 0.5:
            kept = self.pending[: random.randint(0, len(self.pending))]
        else:
            kept = [change for change in self.pending if random.random() < 0.5]
        for change in kept:
            _apply(self.synced, change)
        self.current, self.pending = dict(self.synced), []


def _apply(names: dict[str, _Inode], changes: Sequence[Change]) -> None:
    for name, inode in changes:
        if inode is None:
            names.pop(name, None)
        else:
            names[name] = inode


class ForgetfulDisk:
    """A file system in memory.

    `fuse` counts down with every effect: at zero the process crashes in the middle of it. `full_after` counts those
    that need room: at zero there is none from then on. `sync_fails_after` counts syncs: at zero that one fails. With
    `short_writes` a write takes as much as chance decides. `watch` is called after every effect, and before
    the crash, as if by another process. A crash ends all of these troubles.

    A disk that is broken on purpose: `ignores_sync` says of which file or folder a sync does nothing, and with
    `hides_errors` a sync that fails pretends that it did not.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._folders: dict[Path, _Folder] = {}
        self._locked: set[Path] = set()
        self.open_files: set[File] = set()
        self._boots = 0
        self.fuse: int | None = None
        self.full_after: int | None = None
        self.sync_fails_after: int | None = None
        self.short_writes = False
        self.watch: Callable[[], None] = lambda: None
        self.ignores_sync: Callable[[Path], bool] = lambda path: False
        self.hides_errors = False

    def crash(self, *, power: bool) -> None:
        """End the process: locks are free again, and with a loss of power everything unsynced is up to chance."""
        self._locked.clear()
        self.open_files.clear()
        self.fuse = self.full_after = self.sync_fails_after = None
        self.short_writes = False
        if power:
            self._boots += 1
            names = [names for folder in self._folders.values() for names in (folder.current, folder.synced)]
            for inode in {id(inode): inode for present in names for inode in present.values()}.values():
                inode.forget(self._random)
            for folder in self._folders.values():
                folder.forget(self._random)

    def contents(self) -> dict[Path, bytes]:
        """Return what a process sees in every file but locks."""
        return {
            path / name: inode.current
            for path, folder in self._folders.items()
            for name, inode in folder.current.items()
            if name != "LOCK"
        }

    # ------------------------------------------------------------ chance

    @contextmanager
    def effect(self, *, needs_room: bool = False) -> Iterator[bool]:
        """Count one effect; give whether the process crashes in the middle of it, and then crash. Raises `OSError`."""
        if needs_room and self.full_after is not None:
            self.full_after -= 1
            if self.full_after < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
        crashes = False
        if self.fuse is not None:
            self.fuse -= 1
            crashes = self.fuse < 0
        yield crashes
        self.watch()
        if crashes:
            raise Crash

    def sync_effect(self, synced: _Inode | _Folder, path: Path) -> None:
        """Sync a file or folder. Raises `OSError` if it is the one that fails, unless that is hidden."""
        with self.effect() as crashes:
            if crashes:
                return
            if self.sync_fails_after is not None:
                self.sync_fails_after -= 1
                if self.sync_fails_after == -1:
                    synced.fail_to_sync()
                    if not self.hides_errors:
                        raise OSError(errno.EIO, "Input/output error")
                    return
            if not self.ignores_sync(path):
                synced.sync()

    def draw(self, least: int, most: int) -> int:
        """Return how much of a write gets done."""
        return self._random.randint(least, most)

    # ------------------------------------------------------------ FileSystem

    def make_folder(self, path: Path) -> None:
        for folder in reversed([path, *path.parents]):
            if folder not in self._folders:
                with self.effect() as crashes:
                    if not crashes:
                        self._folders[folder] = _Folder()

    def names(self, folder: Path) -> list[str]:
        return sorted(self._folders[folder].current)

    def exists(self, path: Path) -> bool:
        if path in self._folders:
            return True
        folder = self._folders.get(path.parent)
        return folder is not None and path.name in folder.current

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        data = self._inode(path).current[offset:]
        return data if length is None else data[:length]

    def create(self, path: Path) -> File:
        if path.name in self._folder(path).current:
            raise FileExistsError(path)
        inode = _Inode()
        self._change(path, (path.name, inode), needs_room=True)
        return _MemoryFile(self, inode, path)

    def append(self, path: Path) -> File:
        return _MemoryFile(self, self._inode(path), path)

    def rename(self, source: Path, target: Path) -> None:
        inode = self._inode(source)
        self._change(source, (source.name, None), (target.name, inode))

    def link(self, source: Path, target: Path) -> None:
        self._change(target, (target.name, self._inode(source)))

    def unlink(self, path: Path) -> None:
        self._inode(path)
        self._change(path, (path.name, None))

    def sync_folder(self, path: Path) -> None:
        self.sync_effect(self._folders[path], path)

    def lock(self, path: Path) -> Lock:
        if path in self._locked:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        self._locked.add(path)
        inode = self._folder(path).current.get(path.name)
        if inode is None:
            inode = _Inode()
            self._folder(path).change((path.name, inode))
        return _MemoryLock(self, inode, path)

    def boot_id(self) -> str:
        return f"boot-{self._boots}"

    def unlock(self, path: Path) -> None:
        self._locked.discard(path)

    def _change(self, path: Path, *changes: Change, needs_room: bool = False) -> None:
        with self.effect(needs_room=needs_room) as crashes:
            if not crashes or self._random.random() < 0.5:
                self._folder(path).change(*changes)

    def _folder(self, path: Path) -> _Folder:
        folder = self._folders.get(path.parent)
        if folder is None:
            raise FileNotFoundError(errno.ENOENT, "No such folder", str(path))
        return folder

    def _inode(self, path: Path) -> _Inode:
        inode = self._folder(path).current.get(path.name)
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, "No such file", str(path))
        return inode


class _MemoryFile:
    def __init__(self, disk: ForgetfulDisk, inode: _Inode, path: Path) -> None:
        self._disk = disk
        self._inode = inode
        self._path = path
        disk.open_files.add(self)

    def write(self, data: bytes | memoryview) -> int:
        taken = bytes(data)
        if self._disk.short_writes:
            taken = taken[: self._disk.draw(min(1, len(taken)), len(taken))]
        try:
            with self._disk.effect(needs_room=True) as crashes:
                if crashes:
                    taken = taken[: self._disk.draw(0, len(taken))]
                self._inode.write(len(self._inode.current), taken)
        except OSError:  # what still fitted is there
            self._inode.write(len(self._inode.current), taken[: self._disk.draw(0, len(taken) - 1)])
            raise
        return len(taken)

    def sync(self) -> None:
        self._disk.sync_effect(self._inode, self._path)

    def close(self) -> None:
        self._disk.open_files.remove(self)


class _MemoryLock:
    def __init__(self, disk: ForgetfulDisk, inode: _Inode, path: Path) -> None:
        self._disk = disk
        self._inode = inode
        self._path = path

    def publish(self, text: bytes) -> None:
        with self._disk.effect() as crashes:
            if not crashes or self._disk.draw(0, 1):
                self._inode.write(0, text)

    def release(self) -> None:
        self._disk.unlock(self._path)
