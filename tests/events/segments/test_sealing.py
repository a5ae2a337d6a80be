"""Sealing compares before it believes."""

from pathlib import Path

import pytest

from mage_es.events.disk import Layout, LocalFileSystem
from mage_es.events.errors import LogDamaged
from mage_es.events.log import Log
from mage_es.events.segments.sealing import whole_wal
from tests.events.disks import RefusingDisk
from tests.events.samples import abandon, clock, judged


class Lying(RefusingDisk):
    """A disk that gives back a segment other than the one it was given."""

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        data = super().read(path, offset, length)
        if self.refuse == "truth" and path.name.endswith(".parquet.tmp"):
            return self.other
        return data

    other = b""


def test_a_segment_that_reads_back_differently_is_not_believed(tmp_path: Path) -> None:
    with Log.create(tmp_path / "other", run="r1", clock=clock()) as log:
        log.append([judged(9)])
    disk = Lying()
    disk.other = next((tmp_path / "other" / "seg").iterdir()).read_bytes()
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=disk)
    log.append([judged(1)])
    disk.refuse = "truth"
    with pytest.raises(LogDamaged, match="are not those of"):
        log.close()
    assert [file.name[-12:] for file in (tmp_path / "log" / "seg").iterdir()] == [".parquet.tmp"]
    Log.open(tmp_path / "log", clock=clock()).close()
    assert [file.suffix for file in (tmp_path / "log" / "seg").iterdir()] == [".parquet"]


def test_a_file_that_is_not_whole_is_not_sealed(tmp_path: Path) -> None:
    log = Log.create(tmp_path, run="r1", clock=clock())
    log.append([judged(1)])
    abandon(log)
    layout = Layout(tmp_path)
    data = layout.wal(1).read_bytes()
    assert len(whole_wal(LocalFileSystem(), layout, 1)) == 1
    for cut in (data[:-1], b""):
        layout.wal(1).write_bytes(cut)
        with pytest.raises(LogDamaged, match="damaged after event 0"):
            whole_wal(LocalFileSystem(), layout, 1)
