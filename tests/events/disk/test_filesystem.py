"""The local disk behind its seam."""

import fcntl
import os
from pathlib import Path

import pytest

from mage_es.events.disk import LocalFileSystem, write_new
from mage_es.events.disk.filesystem import boot_of_machine, sync_fully, write_all
from tests.events.disks import RefusingDisk


def test_a_file_is_created_once_and_appended_to(tmp_path: Path) -> None:
    disk, path = LocalFileSystem(), tmp_path / "file"
    file = disk.create(path)
    write_all(file, b"one")
    file.sync()
    file.close()
    with pytest.raises(FileExistsError):
        disk.create(path)
    file = disk.append(path)
    write_all(file, b"!two")
    file.close()
    assert disk.read(path) == b"one!two"
    assert (disk.read(path, 4), disk.read(path, 2, 2), disk.read(path, 5, 99)) == (b"two", b"e!", b"wo")
    assert disk.names(tmp_path) == ["file"]


def test_everything_is_written_however_little_is_taken_at_a_time(tmp_path: Path) -> None:
    disk = RefusingDisk(short_writes=True)
    file = disk.create(tmp_path / "file")
    write_all(file, bytes(range(256)))
    file.close()
    assert disk.read(tmp_path / "file") == bytes(range(256))


def test_a_system_that_takes_nothing_is_an_error_not_a_loop() -> None:
    class Stuck:
        def write(self, data: bytes | memoryview) -> int:
            return 0

        def sync(self) -> None: ...

        def close(self) -> None: ...

    with pytest.raises(OSError, match="accepted none of 3 bytes"):
        write_all(Stuck(), b"abc")


def test_new_contents_replace_old_ones_whole_or_not_at_all(tmp_path: Path) -> None:
    disk, path = RefusingDisk(), tmp_path / "HEAD"
    write_new(disk, path, b"old")
    disk.refuse = "write"
    with pytest.raises(OSError, match="No space left"):
        write_new(disk, path, b"new")
    assert path.read_bytes() == b"old"
    disk.refuse = None
    write_new(disk, path, b"new")
    assert path.read_bytes() == b"new"
    assert disk.names(tmp_path) == ["HEAD"]


def test_a_lock_ends_with_its_release(tmp_path: Path) -> None:
    disk = LocalFileSystem()
    lock = disk.lock(tmp_path / "LOCK")
    with pytest.raises(BlockingIOError):
        disk.lock(tmp_path / "LOCK")
    lock.publish(b"text")
    lock.release()
    disk.lock(tmp_path / "LOCK").release()
    assert disk.read(tmp_path / "LOCK") == b"text"


def test_a_start_of_the_machine_is_named_by_sysctl_where_there_is_no_file_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "sysctl"
    command.write_text('#!/bin/sh\necho "boot of $2"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert boot_of_machine(tmp_path / "absent") == "boot of kern.bootsessionuuid"
    command.unlink()
    assert boot_of_machine(tmp_path / "absent too") == ""
    (tmp_path / "id").write_text("b1\n")
    assert boot_of_machine(tmp_path / "id") == "b1"


@pytest.mark.parametrize(
    ("full", "is_left"),
    [(None, True), (fcntl.F_GETFD, False), (99_999, True)],
    ids=["none", "known", "unknown to the disk"],
)
def test_a_file_is_synced_with_and_without_the_full_sync_of_macos(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: int | None, is_left: bool
) -> None:
    synced = list[int]()
    monkeypatch.delattr(os, "fdatasync", raising=False)
    monkeypatch.setattr(os, "fsync", synced.append)
    with (tmp_path / "file").open("wb") as file:
        sync_fully(file.fileno(), full)
        assert synced == [file.fileno()] * is_left


def test_a_full_sync_that_fails_is_an_error() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        sync_fully(10_000, fcntl.F_GETFD)
