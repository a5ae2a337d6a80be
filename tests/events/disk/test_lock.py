"""The writer's lock and its watermark."""

from pathlib import Path

import pytest

from mage_es.events.disk import LocalFileSystem
from mage_es.events.disk.lock import WriterLock, watermark
from mage_es.events.errors import RunLocked


class Machine(LocalFileSystem):
    """This machine at a certain start of it."""

    def __init__(self, boot: str) -> None:
        self.boot = boot

    def boot_id(self) -> str:
        return self.boot


def test_only_one_may_write_and_the_other_is_told_who(tmp_path: Path) -> None:
    lock = WriterLock(Machine("b1"), tmp_path / "LOCK")
    with pytest.raises(RunLocked, match=r"pid \d+, boot b1"):
        WriterLock(Machine("b1"), tmp_path / "LOCK")
    lock.release()
    WriterLock(Machine("b1"), tmp_path / "LOCK").release()


def test_the_watermark_outlives_the_writer_but_not_the_machines_next_start(tmp_path: Path) -> None:
    lock = WriterLock(Machine("b1"), tmp_path / "LOCK")
    lock.publish(41)
    lock.publish(42)
    assert watermark(Machine("b1"), tmp_path / "LOCK") == 42
    lock.release()
    assert watermark(Machine("b1"), tmp_path / "LOCK") == 42
    assert watermark(Machine("b2"), tmp_path / "LOCK") == 0
    WriterLock(Machine("b1"), tmp_path / "LOCK").release()
    assert watermark(Machine("b1"), tmp_path / "LOCK") == 42
    WriterLock(Machine("b2"), tmp_path / "LOCK").release()
    assert watermark(Machine("b2"), tmp_path / "LOCK") == 0


@pytest.mark.parametrize("text", [b"", b"1" * 128, b"00000000000000000007 00000000 pid 1, boot b1\n", b"\xff" * 40])
def test_a_watermark_that_does_not_check_counts_for_nothing(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "LOCK").write_bytes(text)
    assert watermark(Machine("b1"), tmp_path / "LOCK") == 0


def test_where_starts_cannot_be_told_apart_no_watermark_counts(tmp_path: Path) -> None:
    lock = WriterLock(Machine(""), tmp_path / "LOCK")
    lock.publish(42)
    assert watermark(Machine(""), tmp_path / "LOCK") == 0
    lock.release()
