"""What the writer knows of the file it appends to."""

from pathlib import Path

import pytest

from mage_es.events.disk import LocalFileSystem
from mage_es.events.wal.active import ActiveWal, FramePlace


@pytest.fixture
def wal(tmp_path: Path) -> ActiveWal:
    return ActiveWal(11, LocalFileSystem().create(tmp_path / "wal"))


def test_every_event_is_found_in_its_frame(wal: ActiveWal) -> None:
    wal.add(11, 3, 100, facts=True)
    wal.add(14, 1, 50, facts=True)
    wal.add(15, 2, 70, facts=True)
    frames = [FramePlace(0, 100)] * 3 + [FramePlace(100, 50)] + [FramePlace(150, 70)] * 2
    assert [wal.place_of(seq) for seq in range(11, 17)] == frames


def test_it_is_full_by_events_or_by_bytes(wal: ActiveWal) -> None:
    wal.add(11, 32_767, 100, facts=True)
    assert not wal.is_full
    wal.add(32_778, 1, 100, facts=True)
    assert wal.is_full


def test_it_is_full_by_bytes(wal: ActiveWal) -> None:
    wal.add(11, 1, (16 << 20) - 1, facts=True)
    assert not wal.is_full
    wal.add(12, 1, 1, facts=True)
    assert wal.is_full


def test_it_has_facts_once_it_holds_more_than_the_logs_own_records(wal: ActiveWal) -> None:
    wal.add(11, 1, 10, facts=False)
    assert not wal.has_facts
    wal.add(12, 1, 10, facts=True)
    wal.add(13, 1, 10, facts=False)
    assert wal.has_facts
