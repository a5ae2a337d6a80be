"""A log that goes on from another shares its files, and takes of its events what FORMAT says."""

from pathlib import Path
from random import Random

import msgspec
import pytest

from mage_es.events.care import verify_log
from mage_es.events.disk import FileSystem, Layout, LocalFileSystem
from mage_es.events.disk.documents import Past, Taken
from mage_es.events.errors import LogDamaged
from mage_es.events.facts import tag_of
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import AnswerJudged, Draft, PhaseCompleted
from tests.events.disks import Crash, ForgetfulDisk
from tests.events.samples import clock, judged

TAKES = (Taken(tag_of(AnswerJudged), "purpose", ("fresh",)),)


def parent(path: Path, fs: FileSystem | None = None) -> tuple[LogReader, Log]:
    """Return a log of ten verdicts, of which four are sealed and one is on an anchor, and its open writer."""
    fs = fs or LocalFileSystem()
    with Log.create(path, run="parent", clock=clock(), fs=fs) as log:
        log.append([judged(number) for number in range(4)])
    phase = Draft(event=PhaseCompleted(iteration=0, phase="evaluate"), iteration=0, phase="evaluate")
    anchor = msgspec.structs.replace(judged(4).event, purpose="anchor")
    log = Log.open(path, clock=clock(), fs=fs)
    log.append([Draft(event=anchor, iteration=0, phase="snapshot"), phase])
    log.append([judged(number) for number in range(5, 10)])
    return LogReader(path, fs), log


def gone_on(reader: LogReader, path: Path, seq: int, fs: FileSystem | None = None) -> LogReader:
    reader.link(Layout(path).past)
    past = Past(seq=seq, head=reader.head, takes=TAKES)
    with Log.create(path, run="child", clock=clock(), fs=fs, past=past) as log:
        log.append([judged(20)])
    return LogReader(path, fs)


def names(reader: LogReader) -> list[tuple[int, str]]:
    return [(seq, event.question_id) for seq, event in reader.numbered(AnswerJudged)]


def test_it_begins_with_what_it_takes_of_the_other_up_to_a_moment(tmp_path: Path) -> None:
    reader, _ = parent(tmp_path / "parent")
    at = next(seq for seq, event in reader.numbered(AnswerJudged) if event.question_id == "q6")
    child = gone_on(reader, tmp_path / "child", at)
    taken = [(seq - at, name) for seq, name in names(reader) if seq <= at and name != "q4"]
    assert names(child) == [*taken, (1, "q20")] and taken[-1] == (0, "q6")
    assert [record.seq for record in child.records({AnswerJudged})] == [seq for seq, _ in names(child)]
    assert not list(child.of(PhaseCompleted)), "a type that is not taken"
    assert [event.question_id for event in child.of(AnswerJudged, since=1)] == ["q20"]
    batches = [batch for found in child.batches({AnswerJudged: ("question_id",)}) for batch in found.values()]
    rows = [pair for batch in batches for pair in zip(batch.seqs, batch.columns["question_id"], strict=True)]
    assert rows == names(child)


def test_a_past_may_have_a_past(tmp_path: Path) -> None:
    reader, _ = parent(tmp_path / "parent")
    child = gone_on(reader, tmp_path / "child", reader.head.seq)
    grandchild = gone_on(child, tmp_path / "grandchild", child.head.seq)
    assert [name for _, name in names(grandchild)] == [name for _, name in names(child)] + ["q20"]
    assert [seq for seq, _ in names(grandchild)] == sorted({seq for seq, _ in names(grandchild)})


def test_no_sealed_file_is_copied_and_the_other_may_be_gone(tmp_path: Path) -> None:
    reader, log = parent(tmp_path / "parent")
    child = gone_on(reader, tmp_path / "child", reader.head.seq)
    here, there = Layout(tmp_path / "parent"), Layout(Layout(tmp_path / "child").past)
    sealed = list(here.segments.iterdir())
    assert sealed and all(path.samefile(there.segments / path.name) for path in sealed)
    before = names(child)
    log.append([judged(30)])  # what it appends and seals later is not the child's
    log.close()
    for path in sorted((tmp_path / "parent").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert names(LogReader(tmp_path / "child")) == before
    assert verify_log(Layout(tmp_path / "child").past, head=reader.head.chain).is_sound


def test_another_past_than_the_one_it_began_with_is_damage(tmp_path: Path) -> None:
    reader, _ = parent(tmp_path / "parent")
    gone_on(reader, tmp_path / "child", reader.head.seq)
    past = Layout(tmp_path / "child").past
    with Log.open(past, clock=clock()) as log:
        log.append([judged(30)])
    with pytest.raises(LogDamaged, match="is not the log that child continues"):
        names(LogReader(tmp_path / "child"))
    past.rename(tmp_path / "elsewhere")
    with pytest.raises(LogDamaged, match="is missing, the log that child continues"):
        names(LogReader(tmp_path / "child"))


@pytest.mark.parametrize("power", [False, True])
def test_a_crash_at_any_step_leaves_no_log_or_a_whole_one_and_it_can_be_done_again(power: bool) -> None:
    path, steps = Path("/run/child"), 0
    while True:
        disk = ForgetfulDisk(Random(steps))
        reader, _ = parent(Path("/run/parent"), disk)
        disk.fuse = steps
        try:
            gone_on(reader, path, reader.head.seq, disk)
        except Crash:
            disk.crash(power=power)
        else:
            break
        steps += 1
        if disk.exists(Layout(path).format):
            found = [name for _, name in names(LogReader(path, disk))]
            assert found[:9] == [name for _, name in names(reader) if name != "q4"] and found[9:] in ([], ["q20"])
        else:
            Log.open(Path("/run/parent"), clock=clock(), fs=disk)
            again = LogReader(Path("/run/parent"), disk)
            assert len(names(gone_on(again, path, again.head.seq, disk))) == 10
    assert steps > 30
