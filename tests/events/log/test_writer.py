"""The writer: commits, identities, refusals, and what a failing disk does to it."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from mage_es.events.care import verify_log
from mage_es.events.errors import (
    LogDamaged,
    PrerequisiteError,
    RunLocked,
    SequenceConflict,
    UnknownEvent,
    UsageError,
    WriterPoisoned,
)
from mage_es.events.facts.envelope import event_id
from mage_es.events.facts.vocabulary import Vocabulary
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import MAGE_ES, AnswerJudged, Draft, Event
from tests.events.disks import ForgetfulDisk, RefusingDisk
from tests.events.samples import abandon, bits, clock, closed, drafts, facts, judged, remembered, write_log

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_a_commit_is_numbered_from_one_without_gaps_and_carries_its_first_number(path: Path) -> None:
    with Log.create(path, run="r1", clock=clock()) as log:
        log.append([judged(1), judged(2)])
        log.append([judged(3)])
        first, second, third = LogReader(path).records()
        assert [(r.seq, r.commit) for r in (first, second, third)] == [(1, 1), (2, 1), (3, 3)]
        assert log.head.seq == 3
        assert first.event_id == event_id("r1", judged(1).fact_id)
        assert first.ts_us == second.ts_us < third.ts_us


@pytest.mark.slow
@given(drafts())
def test_events_of_every_type_come_back_bit_for_bit_from_the_tail_and_once_sealed(given_drafts: list[Draft]) -> None:
    disk, path = ForgetfulDisk(Random(0)), Path("/log")
    disk.make_folder(path.parent)
    with Log.create(path, run="r1", clock=clock(), fs=disk) as log:
        appended = log.append(given_drafts)
        in_the_tail = list(LogReader(path, disk).records())
    once_sealed = facts(LogReader(path, disk).records())
    assert bits(in_the_tail) == bits(once_sealed)
    for events in (appended.events, [record.event for record in in_the_tail]):
        assert bits(events) == bits(draft.event for draft in given_drafts)


def test_at_rest_every_fact_is_sealed_and_the_tail_holds_the_record_of_it_only(path: Path) -> None:
    write_log(path, [judged(1)], [remembered(2)])
    assert [file.name for file in sorted((path / "seg").iterdir())] == [
        "00000000000000000001-00000000000000000002.parquet",
        "00000000000000000001-00000000000000000002.vec.parquet",
    ]
    assert [file.name for file in (path / "wal").iterdir()] == ["00000000000000000003.wal"]
    assert [record.phase for record in LogReader(path).records(since=3)] == ["log"]


def test_opening_and_closing_again_changes_nothing(path: Path) -> None:
    write_log(path, [judged(1)])
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and file.name != "LOCK"}
    with Log.open(path, clock=clock()) as log:
        assert log.run == "r1"
    assert before == {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and file.name != "LOCK"}


def test_a_full_file_is_sealed_before_the_next_commit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mage_es.events.wal.active.ROLL_EVENTS", 4)
    with Log.create(path, run="r1", clock=clock()) as log:
        log.append([judged(n) for n in range(5)])
        assert not list((path / "seg").iterdir())
        assert list(log.append([judged(5)]).seqs) == [7]  # 6 is the record of the sealing
        assert len(list((path / "seg").iterdir())) == 1
        assert log.append([judged(2)]).events == [judged(2).event]
    assert verify_log(path).findings == []


def test_size_too_makes_a_file_full(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mage_es.events.wal.active.ROLL_BYTES", 100)
    with Log.create(path, run="r1", clock=clock()) as log:
        log.append([judged(1)])
        log.append([judged(2)])
    assert len(list((path / "seg").iterdir())) == 2


def test_a_retry_returns_what_is_there_sealed_or_not(path: Path) -> None:
    write_log(path, [judged(1, correct=True)])
    with Log.open(path, clock=clock()) as log:
        log.append([judged(2, correct=True)])
        before = log.head
        again = log.append([judged(2, correct=False), judged(1, correct=False)])
        assert again == ([3, 1], [judged(2, correct=True).event, judged(1, correct=True).event])
        assert log.head == before
        again = log.append([judged(1, correct=False), judged(3), judged(2)])
        assert again == ([1, 4, 3], [judged(n, correct=True).event for n in (1, 3, 2)])
        assert log.append([]) == ([], [])


def test_an_append_at_another_head_than_expected_is_refused_unless_it_is_a_retry(path: Path) -> None:
    with Log.create(path, run="r1", clock=clock()) as log:
        log.append([judged(1)], expected_seq=0)
        log.append([judged(2)], expected_seq=1)
        with pytest.raises(SequenceConflict, match="at event 2, not at 1"):
            log.append([judged(3)], expected_seq=1)
        assert log.append([judged(2)], expected_seq=1).seqs == [2]
        assert log.head.seq == 2


def test_a_refused_event_leaves_the_log_as_it_was_and_usable(path: Path) -> None:
    with Log.create(path, run="r1", clock=clock()) as log:
        with pytest.raises(UsageError):
            log.append([judged(1), judged(1)])
        with pytest.raises(UsageError):
            log.append([remembered(1, vector=b"odd")])
        assert log.head.seq == 0
        assert list(log.append([judged(1)]).seqs) == [1]


def test_a_second_writer_is_refused_and_shown_the_first(path: Path) -> None:
    with Log.create(path, run="r1", clock=clock()), pytest.raises(RunLocked, match=r"pid \d+, boot"):
        Log.open(path, clock=clock())
    Log.open(path, clock=clock()).close()


def test_a_writer_in_another_process_keeps_others_out(path: Path) -> None:
    write_log(path, [judged(1)])
    script = "import sys; from pathlib import Path; from mage_es.events.log import Log\n"
    script += "log = Log.open(Path(sys.argv[1]), clock=lambda: 1); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
        assert child.stdout is not None and child.stdout.readline() == "open\n"
        with pytest.raises(RunLocked, match=f"pid {child.pid}"):
            Log.open(path, clock=clock())
        child.kill()
    Log.open(path, clock=clock()).close()


def test_a_folder_that_is_no_log_or_already_one_is_refused(tmp_path: Path, path: Path) -> None:
    with pytest.raises(UsageError, match="not a log"):
        Log.open(tmp_path, clock=clock())
    write_log(path, [judged(1)])
    with pytest.raises(UsageError, match="already"):
        Log.create(path, run="r2", clock=clock())
    (path / "FORMAT").unlink()
    with pytest.raises(LogDamaged, match="FORMAT is missing"):
        Log.open(path, clock=clock())
    with pytest.raises(LogDamaged, match="FORMAT is missing"):
        Log.create(path, run="r2", clock=clock())


def test_a_closed_log_takes_nothing_more(path: Path) -> None:
    log = Log.create(path, run="r1", clock=clock())
    log.close()
    log.close()
    with pytest.raises(UsageError, match="closed"):
        log.append([judged(1)])


def test_a_closed_iteration_moves_the_lower_bound(path: Path) -> None:
    with Log.create(path, run="r1", clock=clock()) as log:
        log.append([judged(1)])
        assert b'"seq":0' in (path / "HEAD").read_bytes()
        log.append([closed(0)])
        assert b'"seq":2' in (path / "HEAD").read_bytes()


# ---------------------------------------------------------------- failing disks


def test_short_writes_are_written_on(path: Path) -> None:
    with Log.create(path, run="r1", clock=clock(), fs=RefusingDisk(short_writes=True)) as log:
        log.append([judged(n) for n in range(100)])
    assert verify_log(path).findings == []
    assert len(facts(LogReader(path).records())) == 100


def test_it_says_when_new_facts_are_written_and_not_yet_synced(path: Path) -> None:
    disk, told = RefusingDisk(), list[list[Event]]()
    with Log.create(path, run="r1", clock=clock(), fs=disk) as log:

        def written() -> None:
            told.append([record.event for record in facts(LogReader(path).records())])
            disk.refuse = "sync"

        log.append([judged(1)])
        log.append([judged(1)], on_written=written)
        assert told == [], "an old fact is not written again"
        with pytest.raises(WriterPoisoned):
            log.append([judged(1), judged(2)], on_written=written)
        assert told == [[judged(1).event]], "no reader sees what is not synced"
    with Log.open(path, clock=clock()) as log:
        assert log.recorded(judged(2).coordinates), "what was written outlasts its writer"


@pytest.mark.parametrize("effect", ["write", "sync"])
def test_after_a_failed_write_or_sync_the_writer_takes_nothing_more_until_reopened(path: Path, effect: str) -> None:
    disk = RefusingDisk()
    log = Log.create(path, run="r1", clock=clock(), fs=disk)
    log.append([judged(1)])
    disk.refuse = effect
    with pytest.raises(WriterPoisoned, match=r"could not append .* resume the run"):
        log.append([judged(2)])
    disk.refuse = None
    with pytest.raises(WriterPoisoned, match="accepts nothing more"):
        log.append([judged(2)])
    log.close()
    assert not list((path / "seg").iterdir()), "a poisoned writer seals nothing"
    with Log.open(path, clock=clock()) as log:
        events = log.append([judged(1), judged(2), judged(3)]).events
    assert events == [d.event for d in (judged(1), judged(2), judged(3))]
    assert [r.event for r in facts(LogReader(path).records())] == events
    assert verify_log(path).findings == []


def test_a_disk_that_is_full_while_sealing_loses_nothing(path: Path) -> None:
    disk = RefusingDisk()
    log = Log.create(path, run="r1", clock=clock(), fs=disk)
    log.append([judged(1)])
    disk.refuse = "create"
    with pytest.raises(WriterPoisoned, match="disk is full: make room") as raised:
        log.close()
    assert str(path) in str(raised.value) and raised.value.exit_code == 4  # not 5: nothing is damaged
    with pytest.raises(PrerequisiteError, match="No space left"):
        Log.open(path, clock=clock(), fs=disk)
    Log.open(path, clock=clock()).close()
    assert [r.event for r in facts(LogReader(path).records())] == [judged(1).event]


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_limit_of_the_kernel_in_the_middle_of_a_write_leaves_the_acknowledged_events(path: Path) -> None:
    log = Log.create(path, run="r1", clock=clock())
    acknowledged = 0
    with file_size_limit(20_000), pytest.raises(WriterPoisoned, match="File too large"):
        for number in range(1000):
            log.append([judged(number)])
            acknowledged += 1
    log.close()
    with Log.open(path, clock=clock()):
        pass
    assert [r.event for r in facts(LogReader(path).records())] == [judged(n).event for n in range(acknowledged)]
    assert list((path / "quarantine").iterdir())


def test_an_interrupted_append_poisons_the_writer(path: Path) -> None:
    class Interrupting(RefusingDisk):
        def refuses(self, effect: str) -> bool:
            if self.refuse == effect:
                raise KeyboardInterrupt
            return False

    disk = Interrupting()
    log = Log.create(path, run="r1", clock=clock(), fs=disk)
    disk.refuse = "sync"
    with pytest.raises(KeyboardInterrupt):
        log.append([judged(1)])
    disk.refuse = None
    with pytest.raises(WriterPoisoned, match="interrupted"):
        log.append([judged(2)])
    log.close()
    with Log.open(path, clock=clock()) as log:
        assert list(log.append([judged(1)]).seqs) == [1]


def test_a_failed_creation_leaves_nothing_that_looks_like_a_log(path: Path) -> None:
    disk = RefusingDisk()
    disk.refuse = "sync"
    with pytest.raises(PrerequisiteError):
        Log.create(path, run="r1", clock=clock(), fs=disk)
    with pytest.raises(UsageError, match="not a log"):
        LogReader(path)
    Log.create(path, run="r1", clock=clock()).close()
    assert LogReader(path).head.seq == 0


def test_a_damaged_tail_is_noticed_when_a_retry_asks_for_it(path: Path) -> None:
    log = Log.create(path, run="r1", clock=clock())
    log.append([judged(1)])
    wal = path / "wal" / f"{1:020d}.wal"
    data = bytearray(wal.read_bytes())
    data[80] ^= 1
    wal.write_bytes(data)
    with pytest.raises(LogDamaged, match="damaged at byte 0"):
        log.append([judged(1)])


def test_the_unsealed_tail_of_a_newer_release_is_not_written_on(path: Path) -> None:
    log = Log.create(path, run="r1", clock=clock())
    log.append([judged(1)])
    abandon(log)
    older = Vocabulary(cls for cls in MAGE_ES.types.values() if cls is not AnswerJudged)
    with pytest.raises(UnknownEvent, match=r"'answer\.judged', which this release does not know"):
        Log.open(path, clock=clock(), vocabulary=older)
    Log.open(path, clock=clock()).close()


def test_a_log_created_beside_an_older_ones_lock_owes_that_one_nothing(tmp_path: Path) -> None:
    write_log(tmp_path, [judged(k) for k in range(9)])
    for file in [*tmp_path.rglob("*.parquet"), *tmp_path.rglob("*.wal"), tmp_path / "FORMAT", tmp_path / "HEAD"]:
        file.unlink()
    Log.create(tmp_path, run="r2", clock=clock()).close()
    with Log.open(tmp_path, clock=clock()) as log:
        assert log.head.seq == 0
