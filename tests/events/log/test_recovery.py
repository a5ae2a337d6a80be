"""What opening a log makes of what it finds."""

import shutil
from pathlib import Path
from random import Random

import pytest

from mage_es.events import wal
from mage_es.events.disk.documents import HeadNote, pack
from mage_es.events.errors import LogDamaged, WriterPoisoned
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import AnswerJudged
from tests.events.disks import Crash, ForgetfulDisk
from tests.events.samples import abandon, bits, clock, closed, facts, judged, remembered, write_log


def unclosed(path: Path, *commits: int) -> Path:
    """Leave a log as a killed writer does, with commits of so many facts; return its write-ahead file."""
    log = Log.create(path, run="r1", clock=clock())
    number = 0
    for size in commits:
        log.append([judged(number + k) for k in range(size)])
        number += size
    abandon(log)
    return path / "wal" / f"{1:020d}.wal"


def recovered(path: Path) -> list[object]:
    log = Log.open(path, clock=clock())
    found = [event for _, event in LogReader(path).events({AnswerJudged: AnswerJudged.__struct_fields__})]
    abandon(log)
    return list(found)


def expected(count: int) -> list[object]:
    return [judged(n).event for n in range(count)]


def test_a_cut_at_every_byte_of_the_last_frame_leaves_the_commits_before_it(tmp_path: Path) -> None:
    whole = unclosed(tmp_path / "whole", 2, 1, 1)
    data = whole.read_bytes()
    last = wal.scan(data, first=1, previous=wal.decode(data).previous)[0][-1]  # type: ignore[union-attr]
    for size in range(last.offset, len(data)):
        path = tmp_path / "cut"
        shutil.copytree(tmp_path / "whole", path, ignore=shutil.ignore_patterns("LOCK"))  # as on another machine
        (path / "wal" / whole.name).write_bytes(data[:size])
        assert recovered(path) == expected(3)
        kept = b"".join(file.read_bytes() for file in (path / "quarantine").iterdir())
        assert kept == data[last.offset : size]
        shutil.rmtree(path)


def test_a_cut_of_what_was_acknowledged_since_the_machine_was_started_is_refused(tmp_path: Path) -> None:
    file = unclosed(tmp_path, 2, 1, 1)
    file.write_bytes(file.read_bytes()[:-1])
    refused(tmp_path, r"LOCK says that event 4 was acknowledged .* events 4 to 4 are lost")
    with pytest.raises(LogDamaged, match="events 4 to 4 are lost"):
        LogReader(tmp_path)


def test_a_tail_of_zeros_or_garbage_is_moved_to_quarantine(tmp_path: Path) -> None:
    for number, rubbish in enumerate((bytes(5000), Random(3).randbytes(300))):
        path = tmp_path / str(number)
        file = unclosed(path, 2, 1)
        file.write_bytes(file.read_bytes() + rubbish)
        assert recovered(path) == expected(3)
        assert [kept.read_bytes() for kept in (path / "quarantine").iterdir()] == [rubbish]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("fault", "after", "error", "said"),
    [
        ("fuse", 1, Crash, None),  # the frame is written, and the process killed before it is synced
        # The system takes the frame's bytes for clean, but they are not on the disk.
        ("sync_fails_after", 0, WriterPoisoned, "Input/output error"),
    ],
    ids=["killed", "failed sync"],
)
def test_what_recovery_shows_survives_a_loss_of_power_right_after_it(
    seed: int, fault: str, after: int, error: type[BaseException], said: str | None
) -> None:
    disk, path = ForgetfulDisk(Random(seed)), Path("/log")
    disk.make_folder(path.parent)
    log = Log.create(path, run="r1", clock=clock(), fs=disk)
    setattr(disk, fault, after)
    with pytest.raises(error, match=said):
        log.append([judged(1)])
    for power in (False, True):
        disk.crash(power=power)
        Log.open(path, clock=clock(), fs=disk)
        assert LogReader(path, disk).head.seq == 1


def test_two_torn_tails_at_one_place_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = unclosed(path)
    for rubbish in (b"first", b"second"):
        target = max((path / "wal").iterdir())
        target.write_bytes(target.read_bytes() + rubbish)
        Log.open(path, clock=clock()).close()
    assert file.exists()
    assert {kept.read_bytes() for kept in (path / "quarantine").iterdir()} == {b"first", b"second"}


def contents(path: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and file.name != "LOCK"}


def refused(path: Path, says: str) -> None:
    before = contents(path)
    with pytest.raises(LogDamaged, match=says):
        Log.open(path, clock=clock())
    assert contents(path) == before, "a log that is refused is left as it is"


def test_damage_with_whole_frames_behind_it_is_refused_with_the_events_affected(tmp_path: Path) -> None:
    file = unclosed(tmp_path, 2, 2, 2)
    data = bytearray(file.read_bytes())
    second = wal.scan(bytes(data), first=1, previous=wal.decode(bytes(data)).previous)[0][1]  # type: ignore[union-attr]
    data[second.offset + 60] ^= 4
    file.write_bytes(data)
    refused(tmp_path, r"checksum does not fit; events before 5 are lost, the frames from 5 on are whole")


def test_a_log_that_ends_before_what_head_says_is_refused(tmp_path: Path) -> None:
    log = Log.create(tmp_path, run="r1", clock=clock())
    log.append([judged(0)])
    log.append([closed(0)])
    abandon(log)
    file = tmp_path / "wal" / f"{1:020d}.wal"
    file.write_bytes(file.read_bytes()[:-1])
    refused(tmp_path, r"ends with event 1, but event 2 was acknowledged: events 2 to 2 are lost")


def test_another_chain_than_head_says_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path, [judged(0)])
    (tmp_path / "HEAD").write_bytes(pack(HeadNote(seq=2, chain="0" * 64)))
    refused(tmp_path, "a different chain at event 2")


@pytest.mark.parametrize("name", ["HEAD", "FORMAT"])
def test_a_flipped_bit_in_the_documents_is_refused(tmp_path: Path, name: str) -> None:
    write_log(tmp_path, [judged(0)])
    data = bytearray((tmp_path / name).read_bytes())
    data[9] ^= 1
    (tmp_path / name).write_bytes(data)
    refused(tmp_path, f"{name} is damaged")


@pytest.mark.parametrize("name", ["HEAD", "FORMAT", "LOCK", f"wal/{2:020d}.wal", f"seg/{1:020d}-{1:020d}.parquet"])
@pytest.mark.parametrize("what", ["is a folder", "is a link that leads to no file"])
def test_a_folder_or_an_empty_link_in_the_place_of_a_file_is_damage_and_named(
    tmp_path: Path, name: str, what: str
) -> None:
    write_log(tmp_path, [judged(0)])
    file = tmp_path / name
    file.unlink()
    if what == "is a folder":
        file.mkdir()
    else:
        file.symlink_to(file.name)
    for use in (LogReader, lambda path: Log.open(path, clock=clock())):
        with pytest.raises(LogDamaged, match=f"{name} {what}"):
            use(tmp_path)


def test_a_log_of_another_folder_does_not_fit(tmp_path: Path) -> None:
    write_log(tmp_path / "one", [judged(0)])
    write_log(tmp_path / "two", [judged(1)])
    shutil.copy(tmp_path / "two" / "wal" / f"{2:020d}.wal", tmp_path / "one" / "wal")
    with pytest.raises(LogDamaged, match="is not the file that was sealed; events 1 to 1 are affected"):
        Log.open(tmp_path / "one", clock=clock())


def test_a_damaged_newest_segment_is_refused_with_the_way_out(tmp_path: Path) -> None:
    write_log(tmp_path, [judged(0)])
    segment = next((tmp_path / "seg").iterdir())
    segment.write_bytes(segment.read_bytes()[:-100])
    refused(tmp_path, "events 1 to 1 are affected. Restore it from a copy of the run")


def test_a_log_whose_last_records_are_missing_is_refused_even_without_head(tmp_path: Path) -> None:
    write_log(tmp_path, [judged(0)])
    (tmp_path / "wal" / f"{2:020d}.wal").write_bytes(b"")
    (tmp_path / "HEAD").unlink()
    (tmp_path / "LOCK").unlink()
    refused(tmp_path, "the end of the log is missing")


def test_a_missing_segment_is_refused_with_the_events_affected(tmp_path: Path) -> None:
    write_log(tmp_path, [judged(0)])
    for number in (1, 2):
        with Log.open(tmp_path, clock=clock()) as log:
            log.append([judged(number)])
    min((tmp_path / "seg").iterdir()).unlink()
    refused(tmp_path, "events 1 to 1 are missing")


def test_a_missing_write_ahead_file_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path, [judged(0)])
    (tmp_path / "wal" / f"{2:020d}.wal").unlink()
    refused(tmp_path, "is missing, and with it every event after 1")


def test_a_damaged_segment_is_sealed_again_while_its_write_ahead_file_is_there(tmp_path: Path) -> None:
    file = unclosed(tmp_path, 2, 2)
    data = file.read_bytes()
    Log.open(tmp_path, clock=clock()).close()
    file.write_bytes(data)  # as if the last removal had not reached the disk
    segment = next((tmp_path / "seg").iterdir())
    segment.write_bytes(segment.read_bytes()[:-100])
    assert recovered(tmp_path) == expected(4)
    assert not file.exists()


def test_leftover_temporary_files_are_removed(tmp_path: Path) -> None:
    unclosed(tmp_path, 2)
    for name in ("HEAD.tmp", "seg/00000000000000000001-00000000000000000002.parquet.tmp"):
        (tmp_path / name).write_bytes(b"half")
    assert recovered(tmp_path) == expected(2)
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.slow
def test_flips_anywhere_in_a_log_at_rest_never_give_wrong_events(tmp_path: Path) -> None:
    random = Random(5)
    for number in range(4):
        with Log.open(tmp_path, clock=clock()) if number else Log.create(tmp_path, run="r1", clock=clock()) as log:
            log.append([judged(10 * number + k) for k in range(8)])
            log.append([remembered(number), closed(number)])
    right = bits(facts(LogReader(tmp_path).records()))
    files = [file for file in contents(tmp_path) if file.stat().st_size]
    for _ in range(250):
        file = random.choice(files)
        data = file.read_bytes()
        position = random.randrange(len(data))
        file.write_bytes(data[:position] + bytes([data[position] ^ 1 << random.randrange(8)]) + data[position + 1 :])
        with pytest.raises(LogDamaged):
            assert bits(facts(LogReader(tmp_path).records())) != right
        file.write_bytes(data)
    assert bits(facts(LogReader(tmp_path).records())) == right
