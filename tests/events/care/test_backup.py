"""A backup holds what is durable, is never changed, belongs to one history, and survives being interrupted."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mage_es.events import wal
from mage_es.events.care.backup import Stored, back_up
from mage_es.events.care.buckets import S3Objects
from mage_es.events.care.manifest import CompleteBackup, complete
from mage_es.events.care.objects import FolderObjects, Objects
from mage_es.events.care.restore import restore
from mage_es.events.disk import Layout, LocalFileSystem, write_new
from mage_es.events.disk.documents import HeadNote, pack
from mage_es.events.errors import LogDamaged, PrerequisiteError, SequenceConflict, WriterPoisoned
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import MAGE_ES, Draft
from mage_es.events.wal.bodies import body_of
from tests.events.samples import abandon, bits, clock, judged, remembered

FS = LocalFileSystem()


@pytest.fixture
def folder(tmp_path: Path) -> FolderObjects:
    """An empty folder."""
    return FolderObjects(tmp_path / "backup", FS)


def save(path: Path, objects: Objects) -> Stored:
    stored = back_up(path, objects, at="log/", fs=FS)
    complete(objects, stored.items)
    return stored


def names(objects: Objects) -> list[str]:
    return [name for name in objects.names() if name.startswith("log/")]


def restored(objects: Objects, path: Path) -> bytes:
    """Restore and return what the log then holds."""
    restore(CompleteBackup(objects), path, at="log/", fs=FS)
    return contents(path)


def contents(path: Path) -> bytes:
    return bits(LogReader(path).records())


def write(path: Path, *commits: list[Draft]) -> None:
    """Write a log of these commits and close it."""
    with Log.create(path, run="r1", clock=clock(), fs=FS) as log:
        for commit in commits:
            log.append(commit)


def append(path: Path, *numbers: int) -> None:
    """Append facts in a life of its own, which ends with sealing."""
    with Log.open(path, clock=clock(), fs=FS) as log:
        log.append([judged(number) for number in numbers])


# ------------------------------------------------------------ what is stored


def test_a_closed_log_comes_back_bit_by_bit(objects: Objects, tmp_path: Path) -> None:
    write(tmp_path / "log", [judged(1), remembered(1)], [judged(2)])
    append(tmp_path / "log", 3, 4)
    stored = save(tmp_path / "log", objects)
    assert stored.head == LogReader(tmp_path / "log").head
    assert restored(objects, tmp_path / "again") == contents(tmp_path / "log")
    for kind in ("seg", "wal"):
        copied = {path.name: path.read_bytes() for path in (tmp_path / "again" / kind).iterdir()}
        assert copied == {path.name: path.read_bytes() for path in (tmp_path / "log" / kind).iterdir()}


def test_a_log_is_backed_up_while_it_is_written(objects: Objects, tmp_path: Path) -> None:
    with Log.create(tmp_path / "log", run="r1", clock=clock(), fs=FS) as log:
        for number in range(1, 4):
            log.append([judged(number), remembered(number)])
            assert save(tmp_path / "log", objects).head == log.head
            assert restored(objects, tmp_path / f"at-{number}") == contents(tmp_path / "log")
    assert [name for name in objects.names() if "/tail/" in name] == [f"log/tail/{seq:020d}" for seq in (1, 3, 5)]
    save(tmp_path / "log", objects)
    assert restored(objects, tmp_path / "closed") == contents(tmp_path / "log")


def test_a_restored_log_goes_on_and_is_backed_up_to_the_same_place(objects: Objects, tmp_path: Path) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=FS)
    log.append([judged(1)])
    save(tmp_path / "log", objects)
    log.append([judged(2)])
    save(tmp_path / "log", objects)
    abandon(log)
    restored(objects, tmp_path / "again")
    append(tmp_path / "again", 3)
    save(tmp_path / "again", objects)
    append(tmp_path / "again", 4)
    save(tmp_path / "again", objects)
    assert restored(objects, tmp_path / "twice") == contents(tmp_path / "again")


def test_a_repeated_backup_stores_only_what_is_new_and_changes_nothing(folder: FolderObjects, tmp_path: Path) -> None:
    write(tmp_path / "log", [judged(1)])
    first = save(tmp_path / "log", folder)
    before = {name: folder.read(name) for name in names(folder)}
    assert (first.objects, first.bytes) == (4, sum(map(len, before.values())))
    assert save(tmp_path / "log", folder)[1:3] == (0, 0)
    append(tmp_path / "log", 2)
    second = save(tmp_path / "log", folder)
    after = {name: folder.read(name) for name in names(folder)}
    assert second.objects == 3
    assert {name: after[name] for name in before} == before
    assert second.bytes == sum(len(data) for name, data in after.items() if name not in before)


def test_the_names_of_objects_say_what_they_hold(folder: FolderObjects, tmp_path: Path) -> None:
    write(tmp_path / "log", [judged(1), remembered(1)])
    save(tmp_path / "log", folder)
    kinds = [name.split("-")[0] for name in names(folder)]
    segment = f"log/seg/{1:020d}"
    assert kinds == ["log/FORMAT", f"log/head/{3:020d}", segment, segment, f"log/tail/{3:020d}"]


def test_what_is_not_durable_is_not_backed_up(folder: FolderObjects, tmp_path: Path) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=FS)
    with pytest.raises(PrerequisiteError, match="nothing to back up"):
        save(tmp_path / "log", folder)
    log.append([judged(1)])
    log.append([judged(2)])
    log._lock.publish(1)  # the second is written, and perhaps not yet synced
    assert save(tmp_path / "log", folder).head.seq == 1
    abandon(log)


@pytest.mark.parametrize("which", ["*[0-9].parquet", "*.vec.parquet"])
def test_a_damaged_segment_is_not_backed_up(folder: FolderObjects, tmp_path: Path, which: str) -> None:
    write(tmp_path / "log", [judged(1), remembered(1)])
    segment = next((tmp_path / "log" / "seg").glob(which))
    data = bytearray(segment.read_bytes())
    data[40] ^= 1
    segment.write_bytes(bytes(data))
    with pytest.raises(LogDamaged, match="is not the file that was sealed"):
        save(tmp_path / "log", folder)
    assert not [name for name in folder.names() if "/head/" in name]


@pytest.mark.slow
def test_what_is_damaged_in_a_copy_is_named_or_stored_anew_as_what_is_missing_is(
    folder: FolderObjects, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    write(path, [judged(1), remembered(1)])
    log = Log.open(path, clock=clock(), fs=FS)
    for number in (2, 3):
        log.append([judged(number)])
        save(path, folder)
    for name in names(folder):
        file = Path(folder.place) / name
        data = file.read_bytes()
        for damaged in (data[:-1], data + data, data[:9] + bytes([data[9] ^ 1]) + data[10:], b""):
            file.write_bytes(damaged)
            try:
                save(path, folder)
            except (LogDamaged, SequenceConflict) as error:
                assert name in str(error)
                file.write_bytes(data)
            assert restored(folder, tmp_path / "again" / name / str(len(damaged))) == contents(path)
        file.unlink()
        save(path, folder)
        assert restored(folder, tmp_path / "again" / name / "missing") == contents(path)
    abandon(log)


class Counting:
    """A place that notes what is asked of it."""

    def __init__(self, objects: Objects) -> None:
        self.place, self.names, self.listed = objects.place, objects.names, objects.listed
        self.asked: list[str] = []
        self._objects = objects

    def read(self, name: str) -> bytes:
        self.asked.append(name)
        return self._objects.read(name)

    def create(self, name: str, data: bytes) -> None:
        self.asked.append(name)
        self._objects.create(name, data)

    def replace(self, name: str, data: bytes) -> None:
        self.asked.append(f"replace {name}")
        self._objects.replace(name, data)


def test_of_a_bucket_no_segment_that_is_stored_is_sent_or_fetched_again(address: str, tmp_path: Path) -> None:
    objects = S3Objects(f"{address}/prefix/{tmp_path.name}")
    write(tmp_path / "log", [judged(1), remembered(1)])
    log = Log.open(tmp_path / "log", clock=clock(), fs=FS)
    for number in (2, 3):
        log.append([judged(number)])
        save(tmp_path / "log", objects)
    again = Counting(objects)
    save(tmp_path / "log", again)
    assert again.asked and not [name for name in again.asked if "/seg/" in name]
    abandon(log)


def test_segments_that_are_damaged_in_a_place_are_stored_anew_and_nothing_else(
    objects: Objects, tmp_path: Path
) -> None:
    write(tmp_path / "log", [judged(1), remembered(1)])
    save(tmp_path / "log", objects)
    for name in [name for name in objects.names() if "/seg/" in name]:
        data = objects.read(name)
        for damaged in (data[:-1], data[:9] + bytes([data[9] ^ 1]) + data[10:], b""):
            objects.replace(name, damaged)
            again = Counting(objects)
            assert save(tmp_path / "log", again)[1:3] == (1, len(data))
            assert [asked for asked in again.asked if "replace" in asked] == [f"replace {name}"]
            assert objects.read(name) == data


class Unsealing(LocalFileSystem):
    """A disk that takes no segment, as if the machine stopped while one is written."""

    def rename(self, source: Path, target: Path) -> None:
        if target.suffix == ".parquet":
            raise OSError("stopped")
        super().rename(source, target)


@pytest.mark.parametrize("at", [3, 4, 5, 9])
def test_a_log_in_the_middle_of_sealing_is_backed_up_by_files(folder: FolderObjects, tmp_path: Path, at: int) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=Unsealing())
    log.append([judged(1), judged(2)])
    with pytest.raises(WriterPoisoned):
        log.close()
    first, chain = log.head.seq + 1, log.head.chain
    drafts = [judged(3)]
    body = body_of(drafts, 0, MAGE_ES)
    frame, after = wal.encode(body, first=first, count=1, previous=bytes.fromhex(chain))
    Layout(tmp_path / "log").wal(first).write_bytes(frame)
    write_new(FS, Layout(tmp_path / "log").head, pack(HeadNote(seq=first, chain=after.hex())))
    save(tmp_path / "log", folder)
    assert [name for name in folder.names() if "/tail/" in name] == [f"log/tail/{seq:020d}" for seq in (1, first)]
    before = contents(tmp_path / "log")
    log = Log.open(tmp_path / "log", clock=clock(), fs=FS)
    log.append([judged(4)])
    try:
        save(tmp_path / "log", Failing(folder, at, stores=False))
    except PrerequisiteError:
        assert restored(folder, tmp_path / "then") == before
    save(tmp_path / "log", folder)
    assert restored(folder, tmp_path / "again") == contents(tmp_path / "log")
    abandon(log)


# ------------------------------------------------------------ one history


def test_a_stale_writer_is_refused(objects: Objects, tmp_path: Path) -> None:
    """A copy that went on by itself takes the place of nothing, whether its events are sealed or not."""
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=FS)
    log.append([judged(1)])
    abandon(log)
    for name in ("older", "other", "sealed"):
        shutil.copytree(tmp_path / "log", tmp_path / name)
    log = Log.open(tmp_path / "log", clock=clock(), fs=FS)
    log.append([judged(2)])
    save(tmp_path / "log", objects)
    before = objects.names()
    with pytest.raises(SequenceConflict, match="reaches event 2, this log only event 1"):
        save(tmp_path / "older", objects)
    other = Log.open(tmp_path / "other", clock=clock(), fs=FS)
    other.append([judged(7)])
    other.append([judged(8)])
    with pytest.raises(SequenceConflict, match="a different event 2"):
        save(tmp_path / "other", objects)
    append(tmp_path / "sealed", 7, 8)
    with pytest.raises(SequenceConflict, match="other events 1 to 2"):
        save(tmp_path / "sealed", objects)
    assert objects.names() == before
    abandon(log)
    abandon(other)


def test_other_sealed_events_are_refused(folder: FolderObjects, tmp_path: Path) -> None:
    write(tmp_path / "log", [judged(1)])
    shutil.copytree(tmp_path / "log", tmp_path / "other")
    shutil.copytree(tmp_path / "log", tmp_path / "longer")
    append(tmp_path / "log", 2)
    append(tmp_path / "other", 3)
    append(tmp_path / "other", 4)
    append(tmp_path / "longer", 5, 6, 7, 8)
    save(tmp_path / "log", folder)
    with pytest.raises(SequenceConflict):
        save(tmp_path / "other", folder)
    with pytest.raises(SequenceConflict, match="which this log does not have"):
        save(tmp_path / "longer", folder)


def test_what_another_writer_left_behind_is_not_built_upon(folder: FolderObjects, tmp_path: Path) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=FS)
    abandon(log)
    shutil.copytree(tmp_path / "log", tmp_path / "other")
    other = Log.open(tmp_path / "other", clock=clock(), fs=FS)
    other.append([judged(7)])
    with pytest.raises(PrerequisiteError):
        save(tmp_path / "other", Failing(folder, 3, stores=False))
    log = Log.open(tmp_path / "log", clock=clock(), fs=FS)
    log.append([judged(1)])
    log.append([judged(2)])
    with pytest.raises(SequenceConflict, match="other events 1 to 1"):
        save(tmp_path / "log", folder)
    abandon(log)
    abandon(other)


def test_the_place_of_another_run_is_refused(folder: FolderObjects, tmp_path: Path) -> None:
    write(tmp_path / "log", [judged(1)])
    save(tmp_path / "log", folder)
    Log.create(tmp_path / "other", run="r2", clock=clock(), fs=FS).close()
    append(tmp_path / "other", 1)
    with pytest.raises(SequenceConflict, match="another log/FORMAT"):
        save(tmp_path / "other", folder)


class Raced:
    """A place in which somebody else stores an object between our looking and our writing."""

    def __init__(self, objects: Objects, name: str) -> None:
        self.place = objects.place
        self.names, self.read = objects.names, objects.read
        self.listed, self.replace = objects.listed, objects.replace
        self._objects, self._name = objects, name

    def create(self, name: str, data: bytes) -> None:
        if name == self._name:
            self._objects.create(name, b"of a zombie")
        self._objects.create(name, data)


def test_of_two_writers_at_the_same_moment_the_second_is_refused(objects: Objects, tmp_path: Path) -> None:
    write(tmp_path / "log", [judged(1)])
    with pytest.raises(SequenceConflict, match=f"another log/tail/{2:020d}"):
        save(tmp_path / "log", Raced(objects, f"log/tail/{2:020d}"))
    assert not [name for name in objects.names() if "/seg/" in name or "/head/" in name]


# ------------------------------------------------------------ interruptions


class Failing:
    """A place that fails at its n-th write, after or before storing."""

    def __init__(self, objects: Objects, at: int, *, stores: bool) -> None:
        self.place = objects.place
        self.names, self.read = objects.names, objects.read
        self.listed, self.replace = objects.listed, objects.replace
        self._objects, self._left, self._stores = objects, at, stores

    def create(self, name: str, data: bytes) -> None:
        self._left -= 1
        if self._left or self._stores:
            self._objects.create(name, data)
        if not self._left:
            raise PrerequisiteError("the connection was lost")


def test_an_answer_that_was_lost_is_found_out_by_reading_back(objects: Objects, tmp_path: Path) -> None:
    write(tmp_path / "log", [judged(1), remembered(1)])
    save(tmp_path / "log", Failing(objects, 2, stores=True))
    assert restored(objects, tmp_path / "again") == contents(tmp_path / "log")


def _live(path: Path, act: Callable[[], None]) -> None:
    log = Log.open(path, clock=clock(), fs=FS)
    log.append([judged(5)])
    act()
    abandon(log)


@pytest.mark.slow
@pytest.mark.parametrize("is_live", [False, True])
@pytest.mark.parametrize("at", range(2, 10))
def test_an_interrupted_backup_leaves_the_one_before_and_is_completed_by_the_next(
    folder: FolderObjects, tmp_path: Path, at: int, is_live: bool
) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=FS)
    log.append([judged(1), remembered(1)])
    save(tmp_path / "log", folder)
    before = contents(tmp_path / "log")
    log.append([judged(2)])
    log.close()
    append(tmp_path / "log", 3)
    append(tmp_path / "log", 4)

    def interrupt() -> None:
        try:
            save(tmp_path / "log", Failing(folder, at, stores=False))
        except PrerequisiteError:
            assert restored(folder, tmp_path / "then") == before
        else:
            assert at > 8

    if is_live:
        _live(tmp_path / "log", interrupt)
    else:
        interrupt()
    append(tmp_path / "log", 6)
    save(tmp_path / "log", folder)
    assert restored(folder, tmp_path / "again") == contents(tmp_path / "log")


def test_an_unsealed_tail_left_by_an_interrupted_backup_is_gone_on_from(folder: FolderObjects, tmp_path: Path) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=FS)
    log.append([judged(1)])
    with pytest.raises(PrerequisiteError):
        save(tmp_path / "log", Failing(folder, 3, stores=False))
    with pytest.raises(PrerequisiteError, match="no complete backup"):
        restored(folder, tmp_path / "nothing")
    log.append([judged(2)])
    save(tmp_path / "log", folder)
    assert restored(folder, tmp_path / "again") == contents(tmp_path / "log")
    abandon(log)
