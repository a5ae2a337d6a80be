"""A restore gives back the whole log or says what is wrong; damage is never restored."""

from pathlib import Path

import pytest

from mage_es.events.care import verify_log
from mage_es.events.care.backup import back_up
from mage_es.events.care.manifest import CompleteBackup, complete, item_of
from mage_es.events.care.objects import FolderObjects
from mage_es.events.care.restore import restore
from mage_es.events.disk import Head, LocalFileSystem
from mage_es.events.errors import LogDamaged, PrerequisiteError
from mage_es.events.log import Log, LogReader
from tests.events.samples import abandon, bits, clock, judged, remembered

FS = LocalFileSystem()
NAMES = 13
"""Objects in the backup below."""


@pytest.fixture
def folder(tmp_path: Path) -> FolderObjects:
    """A place with two segments, vectors, superseded and live tail objects, and several heads and backups."""
    folder = FolderObjects(tmp_path / "backup", FS)
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=FS)
    log.append([judged(1), remembered(1)])
    save(tmp_path / "log", folder)
    log.close()
    with Log.open(tmp_path / "log", clock=clock(), fs=FS) as log:
        log.append([judged(2)])
    log = Log.open(tmp_path / "log", clock=clock(), fs=FS)
    save(tmp_path / "log", folder)
    log.append([judged(3)])
    save(tmp_path / "log", folder)
    abandon(log)
    return folder


def save(path: Path, folder: FolderObjects) -> None:
    complete(folder, back_up(path, folder, at="", fs=FS).items)


def restored(folder: FolderObjects, path: Path) -> Head:
    return restore(CompleteBackup(folder), path, at="", fs=FS)


def test_the_restored_log_is_sound_and_takes_events(folder: FolderObjects, tmp_path: Path) -> None:
    head = restored(folder, tmp_path / "again")
    assert head == LogReader(tmp_path / "log").head
    assert verify_log(tmp_path / "again").is_sound
    with Log.open(tmp_path / "again", clock=clock(), fs=FS) as log:
        assert list(log.append([judged(3)]).seqs) == [head.seq]  # recorded already
        log.append([judged(4)])
    assert verify_log(tmp_path / "again").is_sound


@pytest.mark.slow
@pytest.mark.parametrize("number", range(NAMES))
@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "lose", "swap"])
def test_whatever_happens_to_an_object_is_noticed(
    folder: FolderObjects, tmp_path: Path, number: int, harm: str
) -> None:
    names, used = folder.names(), CompleteBackup(folder).names()
    assert len(names) == NAMES
    newest, heads = names[-1], [name for name in names if name.startswith("head/")]
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
    # Frames that were sealed later, and what earlier backups say.
    if names[number] not in (*used, newest):
        restored(folder, tmp_path / "again")
        assert bits(LogReader(tmp_path / "again").records()) == bits(LogReader(tmp_path / "log").records())
    elif names[number] == newest and harm in ("lose", "swap"):
        assert restored(folder, tmp_path / "again").seq == int(heads[-2].removeprefix("head/"))
    else:
        with pytest.raises(LogDamaged):
            restored(folder, tmp_path / "again")


def test_an_object_whose_name_leads_elsewhere_is_not_restored(folder: FolderObjects, tmp_path: Path) -> None:
    name, whole = "golds/../elsewhere.parquet", CompleteBackup(folder)
    folder.create(name, b"of another")
    complete(folder, [item_of(each, folder.read(each)) for each in (*whole.names(), name)])
    restored(folder, tmp_path / "again")
    assert not list((tmp_path / "again").rglob("elsewhere*")) and verify_log(tmp_path / "again").is_sound


def test_what_no_complete_backup_names_is_not_restored(folder: FolderObjects, tmp_path: Path) -> None:
    name = next(name for name in folder.names() if name.startswith("seg/") and ".vec" not in name)
    folder.create(name.replace(name.split("-")[1], f"{9:020d}"), b"of another history")
    assert restored(folder, tmp_path / "again") == LogReader(tmp_path / "log").head
    with pytest.raises(PrerequisiteError, match="holds no log under 'other/'"):
        restore(CompleteBackup(folder), tmp_path / "other", at="other/", fs=FS)
