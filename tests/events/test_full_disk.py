"""A real disk that is really full: a small tmpfs, where the system allows mounting one."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mage_es.events.care import verify_log
from mage_es.events.errors import PrerequisiteError, WriterPoisoned
from mage_es.events.log import Log, LogReader
from tests.events.samples import clock, facts, judged

pytestmark = pytest.mark.slow


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if _mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)) != 0:
        pytest.skip("mounting a small tmpfs needs root and the right to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _mount(*arguments: str) -> int:
    try:
        return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode
    except FileNotFoundError:
        return 1


def _resize(disk: Path, kib: int) -> None:
    assert _mount("-o", f"remount,size={kib}k", str(disk)) == 0


@pytest.mark.parametrize("kib", [64, 88, 112, 136, 160, 184, 208])
def test_a_full_disk_stops_the_writer_and_loses_nothing(disk: Path, kib: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mage_es.events.wal.active.ROLL_EVENTS", 40)
    _resize(disk, kib)
    log, acknowledged = Log.create(disk / "log", run="r1", clock=clock()), 0
    with pytest.raises(WriterPoisoned, match="disk is full: make room"):
        for number in range(10_000):
            log.append([judged(number)])
            acknowledged += 1
    with pytest.raises(WriterPoisoned, match="accepts nothing more"):
        log.append([judged(acknowledged)])
    log.close()
    try:
        Log.open(disk / "log", clock=clock()).close()  # what recovery clears away may be room enough
    except (PrerequisiteError, WriterPoisoned) as error:
        assert "No space left" in str(error)
    _resize(disk, 4 * kib)
    with Log.open(disk / "log", clock=clock()) as log:
        log.append([judged(acknowledged)])
    events = [record.event for record in facts(LogReader(disk / "log").records())]
    assert events == [judged(number).event for number in range(acknowledged + 1)]
    assert verify_log(disk / "log").findings == []
