"""A damaged log is cut to its last whole prefix: what is lost is said before, kept in quarantine, and recorded."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from mage_es.events import wal
from mage_es.events.care import RepairReport, plan_repair, repair_log, verify_log, verify_questions
from mage_es.events.disk.documents import HeadNote, pack
from mage_es.events.errors import LogDamaged, RunLocked, UnknownEvent
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Draft, LogRepaired, QuestionGold, QuestionText
from tests.events.crashed import BAD, outcomes
from tests.events.disks import Crash, ForgetfulDisk
from tests.events.samples import abandon, bits, clock, closed, facts, judged, remembered

Harm = Callable[[Path], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of three segments (events 1 to 4, 5 to 9, 10 to 14), the second with vectors, and a tail of six events.

    The tail's first event records the newest segment; its commits are events 16 and 17, 18, and 19 and 20.
    """
    path = tmp_path / "log"
    for part in range(3):
        with Log.open(path, clock=clock()) if part else Log.create(path, run="r1", clock=clock()) as log:
            log.append([judged(10 * part), judged(10 * part + 1)])
            log.append([judged(10 * part + 2), remembered(part) if part == 1 else judged(10 * part + 3)])
    log = Log.open(path, clock=clock())
    log.append([judged(50), closed(0)])
    log.append([judged(51)])
    log.append([judged(52), judged(53)])
    abandon(log)
    return path


def tail(path: Path) -> Path:
    return max((path / "wal").iterdir())


def frames(path: Path) -> list[wal.Frame]:
    data = tail(path).read_bytes()
    return wal.scan(data, first=15, previous=wal.previous_in(data[: wal.HEADER_SIZE]))[0]


def segment(path: Path, number: int, ending: str = ".parquet") -> Path:
    return sorted(file for file in (path / "seg").iterdir() if file.name.split(".", 1)[1] == ending[1:])[number]


def flip(file: Path, position: int) -> None:
    data = bytearray(file.read_bytes())
    data[position] ^= 1
    file.write_bytes(data)


def flip_frame(number: int) -> Harm:
    return lambda path: flip(tail(path), frames(path)[number].offset + 60)


def cut_frame(number: int) -> Harm:
    return lambda path: tail(path).write_bytes(tail(path).read_bytes()[: frames(path)[number].offset])


def lose_tail(path: Path) -> None:
    tail(path).unlink()
    (path / "LOCK").unlink()
    (path / "HEAD").unlink()


def alien_head(path: Path) -> None:
    (path / "HEAD").write_bytes(pack(HeadNote(seq=17, chain="0" * 64)))


HOLES: dict[str, tuple[Harm, int, tuple[int, int]]] = {
    "a frame within the tail": (flip_frame(2), 17, (18, 20)),
    "the record of the newest segment": (flip_frame(0), 14, (15, 20)),
    "the last frame, acknowledged": (cut_frame(3), 18, (19, 20)),
    "all but the record of the newest segment": (cut_frame(1), 15, (16, 20)),
    "the whole tail and every trace of it": (lose_tail, 14, (15, 0)),
    "the newest segment": (lambda path: flip(segment(path, 2), 99), 9, (10, 20)),
    "the newest segment's file": (lambda path: segment(path, 2).unlink(), 9, (10, 20)),
    "a segment in the middle": (lambda path: segment(path, 1).unlink(), 4, (5, 20)),
    "the vectors of a segment": (lambda path: segment(path, 0, ".vec.parquet").unlink(), 4, (5, 20)),
    "the first segment": (lambda path: flip(segment(path, 0), 99), 0, (1, 20)),
    "HEAD": (lambda path: flip(path / "HEAD", 9), 20, (0, 0)),
    "HEAD, another log's": (alien_head, 20, (0, 0)),
}
GONE = {
    "the last frame, acknowledged",
    "all but the record of the newest segment",
    "the whole tail and every trace of it",
}
"""Where nothing of what is lost can be read any more."""


def contents(path: Path) -> dict[str, bytes]:
    files = [file for file in path.rglob("*") if file.is_file() and file.name != "LOCK"]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


@pytest.mark.slow
@pytest.mark.parametrize("hole", HOLES)
def test_a_repair_keeps_the_whole_prefix_and_says_what_is_lost(path: Path, hole: str) -> None:
    before = list(LogReader(path).records())
    harm, whole, lost = HOLES[hole]
    harm(path)
    damaged = contents(path)
    assert not verify_log(path).is_sound
    plan = plan_repair(path)
    assert contents(path) == damaged, "a plan changes nothing"
    assert plan.problems and not plan.done
    assert (plan.whole_seq, (plan.lost_first, plan.lost_last)) == (whole, lost)
    assert plan.lost == ("" if not lost[0] else str(lost[1] - lost[0] + 1) if lost[1] else "all")
    assert plan.reached == (0 if lost[0] and hole not in GONE else -1), "the iteration that what is lost belongs to"

    report = repair_log(path, clock=clock())
    assert report.done
    records = list(LogReader(path).records())
    assert bits(records[:whole]) == bits(before[:whole])
    *again, last = records[whole:]
    assert isinstance(last.event, LogRepaired)
    assert not facts(again), "nothing but the hash of a segment comes between"
    assert (last.event.cut_first, last.event.cut_last) == lost
    assert (last.seq, LogReader(path).head.chain) == (report.head_seq, report.head_chain)
    assert verify_log(path).findings == []

    now = contents(path)
    for cut in report.cuts:
        assert now[f"quarantine/{cut.kept_in}"] == damaged[cut.file][cut.offset :]
    for name, data in damaged.items():
        kept = [cut.offset for cut in report.cuts if cut.file == name]
        if name != "HEAD":
            assert now.get(name, b"").startswith(data[: kept[0]] if kept else data)
    with Log.open(path, clock=clock()) as log:
        log.append([judged(99)])
    assert verify_log(path).findings == []
    assert not plan_repair(path).problems


def test_a_log_that_opens_as_it_is_is_left_as_it_is(path: Path) -> None:
    before = contents(path)
    for _ in range(2):
        assert repair_log(path, clock=clock()) == plan_repair(path)
        assert plan_repair(path).problems == () and contents(path) == before
        tail(path).write_bytes(tail(path).read_bytes() + b"an append that was not finished")
        before = contents(path)
    Log.open(path, clock=clock()).close()
    assert not plan_repair(path).problems


def test_an_unfinished_append_is_kept_too_when_something_else_is_repaired(path: Path) -> None:
    tail(path).write_bytes(tail(path).read_bytes() + b"unfinished")
    flip(path / "HEAD", 9)
    report = repair_log(path, clock=clock())
    assert (report.whole_seq, report.lost_first) == (20, 0)
    assert b"unfinished" in contents(path).values()
    assert verify_log(path).findings == []


def test_damaged_gold_answers_are_put_into_quarantine_and_no_event_is_lost(path: Path) -> None:
    with Log.open(path, clock=clock()) as log:
        text = QuestionText(
            id="q", split="test", task_type="t", question="?", context="", stub="", titles=(), family=""
        )
        stored = log.store([text], [QuestionGold(id="q", gold="42", solution="", remarks=())])
        log.append([Draft(event=stored, iteration=-1, phase="open")])
    assert verify_questions(path) == (1, 1, ())
    golds = next((path / "golds").iterdir())
    flip(golds, 40)
    assert golds.name in verify_questions(path).problems[0]
    report = repair_log(path, clock=clock())
    assert (report.done, report.lost_first, [cut.file for cut in report.cuts]) == (True, 0, [f"golds/{golds.name}"])
    assert verify_questions(path) == (1, 0, ())
    assert verify_log(path).findings == []


def test_a_log_that_somebody_writes_is_not_repaired(path: Path) -> None:
    with Log.open(path, clock=clock()), pytest.raises(RunLocked):
        repair_log(path, clock=clock())


def test_a_frame_of_a_newer_release_is_not_taken_for_damage(path: Path) -> None:
    last = frames(path)[-1]
    data, _ = wal.encode(b"\x90", first=20, count=1, previous=last.chain)
    newer = bytearray(data)
    newer[4] = 9
    import google_crc32c

    newer[-4:] = google_crc32c.value(bytes(newer[:-4])).to_bytes(4, "little")
    tail(path).write_bytes(tail(path).read_bytes() + newer)
    with pytest.raises(UnknownEvent, match="Use a newer release"):
        repair_log(path, clock=clock())


def test_without_format_nothing_is_repaired(path: Path) -> None:
    flip(path / "FORMAT", 9)
    with pytest.raises(LogDamaged, match="FORMAT is damaged"):
        plan_repair(path)


@pytest.mark.parametrize("seed", range(40))
def test_a_repair_that_is_interrupted_leaves_a_log_that_is_refused_or_says_that_it_was_cut(seed: int) -> None:
    random = Random(seed)
    disk, path = ForgetfulDisk(random), Path("/run/log")
    disk.make_folder(path.parent)
    with Log.create(path, run="r1", clock=clock(), fs=disk) as log:
        log.append([judged(1), judged(2)])
    log = Log.open(path, clock=clock(), fs=disk)
    for number in range(3, 8):
        log.append([judged(number), closed(number)])
    disk.crash(power=False)
    file = max(path / "wal" / name for name in disk.names(path / "wal"))
    data = bytearray(disk.read(file))
    data[len(data) // 2] ^= 1
    disk.unlink(file)
    made = disk.create(file)
    made.write(bytes(data))
    made.sync()
    disk.sync_folder(file.parent)
    disk.fuse = random.randint(1, 30)
    reports: list[RepairReport] = []
    for _ in range(3):
        try:
            reports.append(repair_log(path, clock=clock(), fs=disk))
            break
        except Crash:
            disk.crash(power=random.random() < 0.7)
            disk.fuse = None
            try:
                opened = Log.open(path, clock=clock(), fs=disk)
            except LogDamaged:
                continue
            abandon(opened)
            assert any(isinstance(r.event, LogRepaired) for r in LogReader(path, disk).records())
            break
    disk.fuse = None
    if not any(isinstance(r.event, LogRepaired) for r in LogReader(path, disk).records()):
        pytest.fail(f"cut without a record: {reports}")
    assert verify_log(path, disk).findings == []


@pytest.mark.slow
def test_what_is_damaged_after_a_kill_is_named_and_what_a_repair_leaves_is_sound() -> None:
    found = list(outcomes(every=19))
    assert len(found) > 50 and not [case for case in found if case[-1] in BAD]
