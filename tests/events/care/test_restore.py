"""A restore gives back the whole log or says what is wrong; damage is never restored."""

from __future__ import annotations

from pathlib import Path

import pytest

from mage_es.events.care import back_up, restore, verify_log
from mage_es.events.disk import FolderObjects, LocalFileSystem
from mage_es.events.errors import LogDamaged
from mage_es.events.log import Log, LogReader
from tests.events.samples import abandon, bits, clock, judged, remembered

FS = LocalFileSystem()
NAMES = 10
"""Objects in the backup below."""


@pytest.fixture
def folder(tmp_path: Path) -> FolderObjects:
    """A backup with two segments, vectors, superseded and live tail objects, and several heads."""
    folder = FolderObjects(tmp_path / "backup", FS)
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=FS)
    log.append([judged(1), remembered(1)])
    back_up(tmp_path / "log", folder, at="", fs=FS)
    log.close()
    with Log.open(tmp_path / "log", clock=clock(), fs=FS) as log:
        log.append([judged(2)])
    log = Log.open(tmp_path / "log", clock=clock(), fs=FS)
    back_up(tmp_path / "log", folder, at="", fs=FS)
    log.append([judged(3)])
    back_up(tmp_path / "log", folder, at="", fs=FS)
    abandon(log)
    return folder


def test_the_restored_log_is_sound_and_takes_events(folder: FolderObjects, tmp_path: Path) -> None:
    head = restore(folder, tmp_path / "again", at="", fs=FS)
    assert head == LogReader(tmp_path / "log").head
    assert verify_log(tmp_path / "again").is_sound
    with Log.open(tmp_path / "again", clock=clock(), fs=FS) as log:
        assert log.append([judged(3)])[0].seq == head.seq  # recorded already
        log.append([judged(4)])
    assert verify_log(tmp_path / "again").is_sound


@pytest.mark.slow
@pytest.mark.parametrize("number", range(NAMES))
@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "lose", "swap"])
def test_whatever_happens_to_an_object_is_noticed(
    folder: FolderObjects, tmp_path: Path, number: int, harm: str
) -> None:
    names = folder.names()
    assert len(names) == NAMES
    path = tmp_path / "backup" / names[number]
    data = path.read_bytes()
    if harm == "lose":
        path.unlink()
    elif harm == "swap":
        path.write_bytes((tmp_path / "backup" / names[number - 1]).read_bytes())
    else:
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        path.write_bytes({"flip": flipped, "cut": data[:-1], "empty": b""}[harm])
    heads = [name for name in names if name.startswith("head/")]
    unused = [*heads[:-1], f"tail/{1:020d}"]  # heads of earlier backups, and frames that were sealed later
    if names[number] in unused:
        restore(folder, tmp_path / "again", at="", fs=FS)
        assert bits(LogReader(tmp_path / "again").records()) == bits(LogReader(tmp_path / "log").records())
    elif (names[number], harm) == (heads[-1], "lose"):
        assert f"head/{restore(folder, tmp_path / 'again', at='', fs=FS).seq:020d}" == heads[-2]  # the backup before
    else:
        with pytest.raises(LogDamaged):
            restore(folder, tmp_path / "again", at="", fs=FS)


def test_events_beyond_the_head_are_noticed(tmp_path: Path) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=FS)
    one, other = FolderObjects(tmp_path / "one", FS), FolderObjects(tmp_path / "other", FS)
    log.append([judged(1)])
    back_up(tmp_path / "log", one, at="", fs=FS)
    log.append([judged(2)])
    back_up(tmp_path / "log", other, at="", fs=FS)
    abandon(log)
    (tmp_path / "one" / "tail" / f"{1:020d}").write_bytes(other.read(f"tail/{1:020d}"))
    with pytest.raises(LogDamaged, match="does not end with"):
        restore(one, tmp_path / "again", at="", fs=FS)


def test_two_histories_in_one_place_are_noticed(folder: FolderObjects, tmp_path: Path) -> None:
    name = next(name for name in folder.names() if name.startswith("seg/") and ".vec" not in name)
    folder.create(name.replace(name.split("-")[1], f"{9:020d}"), b"of another history")
    with pytest.raises(LogDamaged, match="several segments"):
        restore(folder, tmp_path / "again", at="", fs=FS)
