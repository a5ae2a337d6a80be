"""`verify` passes a sound run and names the first thing that breaks each claim."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.histories.bisect import bisect
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.exam import examine
from mage_es.events import vocabulary as v
from mage_es.events.log import Log, LogReader


def forged(source: Path, target: Path, change: Callable[[v.Record], v.Event]) -> None:
    """Write a log anew, sound in every byte, with its events changed."""
    reader = LogReader(source)
    with Log.create(target, run=reader.run, clock=clock) as log:
        for record in reader.records():
            if not isinstance(record.event, v.SegmentSealed):
                kept = {name: getattr(record, name) for name in ("iteration", "phase", "ordinal", "correlation")}
                log.append([v.Draft(event=change(record), **kept)])


def checks(run: Run) -> dict[str, tuple[bool, str]]:
    return {check.name: (check.ok, check.detail) for check in verify(run).checks}


@pytest.fixture
def examined(small_run: Run, tmp_path: Path) -> Run:
    run = Run(small_run.id, tmp_path / "copy")
    shutil.copytree(small_run.log_path, run.log_path)
    examine(run, at="latest", questions=5, control="none", data_dir=None, runtime=Runtime(workers=2))
    return run


@pytest.mark.slow
def test_a_sound_run_passes_every_check(examined: Run) -> None:
    report = verify(examined)
    assert report.ok
    assert [check.name for check in report.checks][:5] == ["log", "questions", "replay", "splits", "leaks"]
    assert report.head == LogReader(examined.log_path).head.chain
    [exam] = report.exams
    assert (exam.exam, exam.total, exam.head) == ("0001-latest", 5, LogReader(examined.exams()[0].log_path).head.chain)


def test_a_flipped_byte_in_a_segment_is_named_with_its_file_and_events(examined: Run) -> None:
    segment = next((examined.log_path / "seg").glob("*.parquet"))
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    ok, detail = checks(examined)["log"]
    assert not ok
    assert segment.name in detail and "events 1-" in detail


def test_an_altered_gold_answer_is_named_and_hides_no_other_check(examined: Run) -> None:
    sound = checks(examined)
    [file] = (examined.log_path / "golds").iterdir()
    file.write_bytes(file.read_bytes()[:-40] + bytes(40))
    found = checks(examined)
    assert found.keys() == sound.keys()
    assert {name for name, (ok, _) in found.items() if not ok} == {"questions", "target leaks"}
    assert all(file.name in found[name][1] for name in ("questions", "target leaks"))


def test_the_replies_to_believe_are_those_of_the_run_of_its_exams_and_to_what_was_asked_again(examined: Run) -> None:
    def calls() -> tuple[int, ...]:
        parts = (examined, *examined.exams(), examined.reasked)
        return tuple(sum(1 for _ in LogReader(part.log_path).of(v.ModelCalled)) if part.events else 0 for part in parts)

    names = [question.id for question in LogReader(examined.log_path).questions()[0]]
    for name in names[:2]:
        bisect(examined, question=name, bad="iter-0")
    own, exam, again = calls()
    assert own and exam and again
    states = {ground.claim: ground.state for ground in verify(examined).grounds}
    counted = re.findall(r"(\d+) calls of", states["the models really gave these replies"])
    assert sum(map(int, counted)) == own + exam + again


def test_a_changed_digest_is_named_with_its_iteration_and_projection(small_run: Run, tmp_path: Path) -> None:
    def change(record: v.Record) -> v.Event:
        event = record.event
        if isinstance(event, v.IterationClosed) and event.iteration == 1:
            bent = [
                v.Digest(projection="slots", value="0" * 64) if d.projection == "slots" else d for d in event.digests
            ]
            return msgspec.structs.replace(event, digests=tuple(bent))
        return event

    forged(small_run.log_path, tmp_path / "log", change)
    ok, detail = checks(Run(small_run.id, tmp_path))["replay"]
    assert not ok
    assert detail.startswith("slots differs at iter-1")


def test_a_memory_of_a_question_outside_the_evolution_split_is_a_leak(small_run: Run, tmp_path: Path) -> None:
    changed = []

    def change(record: v.Record) -> v.Event:
        if isinstance(record.event, v.MemoryAppended) and record.event.question and not changed:
            changed.append(record.seq)
            return msgspec.structs.replace(record.event, question="A question from nowhere?")
        return record.event

    forged(small_run.log_path, tmp_path / "log", change)
    ok, detail = checks(Run(small_run.id, tmp_path))["leaks"]
    assert not ok
    assert "holds a question of no split" in detail


def test_splits_that_share_a_question_are_found(small_run: Run, tmp_path: Path) -> None:
    seen: list[str] = []

    def change(record: v.Record) -> v.Event:
        if isinstance(record.event, v.SplitCommitted):
            hashes = (*record.event.question_hashes, *seen[:1])
            seen.append(record.event.question_hashes[0])
            return msgspec.structs.replace(record.event, question_hashes=hashes)
        return record.event

    forged(small_run.log_path, tmp_path / "log", change)
    assert checks(Run(small_run.id, tmp_path))["splits"][0] is False


@pytest.mark.slow
def test_a_flipped_byte_in_an_exams_log_is_named_and_the_other_checks_go_on(examined: Run) -> None:
    exam = next(examined.exams_path.glob("*"))
    segment = next((exam / "log" / "seg").glob("*.parquet"))
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    found = checks(examined)
    ok, detail = found[f"exam {exam.name}"]
    assert not ok and segment.name in detail
    assert found["log"][0] and found["leaks"][0]
