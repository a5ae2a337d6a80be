"""The unsealed end of a log, followed while it grows."""

from pathlib import Path

import pytest

from mage_es.events.disk import Layout, LocalFileSystem
from mage_es.events.errors import LogDamaged
from mage_es.events.log import Log
from mage_es.events.log.recovery import read_format
from mage_es.events.log.tail import Tail
from tests.events.samples import clock, judged


class Measuring(LocalFileSystem):
    """Counts the bytes read of write-ahead files."""

    def __init__(self) -> None:
        self.bytes = 0

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        data = super().read(path, offset, length)
        self.bytes += len(data) if path.suffix == ".wal" else 0
        return data


def tail_of(path: Path, disk: LocalFileSystem) -> Tail:
    return Tail(disk, Layout(path), read_format(disk, Layout(path))[1])


def test_following_reads_only_what_was_appended(tmp_path: Path) -> None:
    with Log.create(tmp_path, run="r1", clock=clock()) as log:
        disk = Measuring()
        tail = tail_of(tmp_path, disk)
        for number in range(20):
            log.append([judged(number)])
            tail.refresh()
            assert tail.head == log.head
        assert disk.bytes == (tmp_path / "wal" / f"{1:020d}.wal").stat().st_size
        assert [frame.first for frame in tail.frames] == list(range(1, 21))


def test_what_is_sealed_leaves_the_tail_and_its_hash_is_known(tmp_path: Path) -> None:
    log = Log.create(tmp_path, run="r1", clock=clock())
    log.append([judged(1), judged(2)])
    tail = tail_of(tmp_path, LocalFileSystem())
    tail.refresh()
    log.close()
    tail.refresh()
    assert [frame.first for frame in tail.frames] == [3]
    assert tail.recorded[1].last == 2
    assert tail.listing.sealed == 2


def test_a_file_that_is_listed_and_never_there_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    class Haunted(LocalFileSystem):
        def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
            if path.suffix == ".wal":
                raise FileNotFoundError(path)
            return super().read(path, offset, length)

    Log.create(tmp_path, run="r1", clock=clock()).close()
    with pytest.raises(LogDamaged, match="cannot be opened"):
        tail_of(tmp_path, Haunted()).refresh()
