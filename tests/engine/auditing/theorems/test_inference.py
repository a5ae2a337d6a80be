"""Exams are frozen, and the run's log misses none."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.engine.auditing.theorems.inference import check_inference, learning_types
from mage_es.engine.run.budget import Limits
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.check import Check
from mage_es.engine.verbs.exam import examine
from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.errors import BudgetReached, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.signing.heads import root_of
from tests.engine.forgery import Change, after, forged, instead, replace


@pytest.fixture(scope="module")
def examined_once(evolved_once: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with an exam. Shared: only copy it."""
    path = tmp_path_factory.mktemp("examined") / evolved_once.id
    run = Run(evolved_once.id, shutil.copytree(evolved_once.path, path))
    examine(run, at="latest", questions=3, control="none", data_dir=None, runtime=Runtime(workers=2))
    return run


@pytest.fixture
def examined(examined_once: Run, tmp_path: Path) -> Run:
    return Run(examined_once.id, shutil.copytree(examined_once.path, tmp_path / "copy"))


def checked(run: Run) -> list[Check]:
    return list(check_inference(run, LogReader(run.log_path)))


def forge_exam(run: Run, folder: Path, change: Change) -> Path:
    """Write the log of the run's exam anew, and let the run's log vouch for it."""
    log = replace(run.exams()[0].log_path, folder, change)
    head, root = LogReader(log).head, root_of(log).hex()
    vouch = instead(
        v.ExamClosed, lambda event: msgspec.structs.replace(event, head_seq=head.seq, head_chain=head.chain, root=root)
    )
    replace(run.log_path, folder, vouch)
    return log


def test_a_true_exam_was_frozen_and_the_run_shows_no_trace_of_it(examined: Run) -> None:
    trace, exam = checked(examined)
    assert exam.detail.startswith("builtin/analogist at latest, control none: ") and "3 unseen" in exam.detail
    assert trace.ok and trace.measured == "0 events of exams"
    assert exam.ok and exam.measured == exam.bound == "0 guidance calls, 0 learned"


@pytest.mark.paper("section 3.2, frozen inference")
def test_a_guidance_call_is_found(examined: Run, tmp_path: Path) -> None:
    change = instead(v.ModelCalled, lambda event: msgspec.structs.replace(event, tier="guidance"))
    log = forge_exam(examined, tmp_path, change)
    exam = checked(examined)[1]
    named = next(iter(LogReader(log).records(since=exam.seq, until=exam.seq))).event
    assert not exam.ok and isinstance(named, v.ModelCalled) and named.tier == "guidance"


def test_a_lesson_in_the_log_of_an_exam_is_found(examined: Run, tmp_path: Path) -> None:
    lesson = next(LogReader(examined.log_path).of(v.BanditUpdated))
    log = forge_exam(examined, tmp_path, after(v.AnswerJudged, lesson))
    exam = checked(examined)[1]
    named = next(iter(LogReader(log).records(since=exam.seq, until=exam.seq))).event
    assert not exam.ok and named == lesson and exam.measured == "0 guidance calls, 1 learned"


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"digests": (v.Digest(projection="memory", value="0" * 64),)}, "memory differs from the run's log"),
        ({"head_seq": 1_000_000}, "it asks the state after event 1000000, and the log ends with event"),
        ({"marker": "start"}, "it asks the state after event"),
        ({"marker": "iter-0"}, "it asks the state after event"),
    ],
    ids=["another state", "a state that the log never had", "not the start", "not that iteration"],
)
def test_an_exam_of_another_state_is_found(examined: Run, tmp_path: Path, changes: dict[str, Any], found: str) -> None:
    def bent(event: v.Event) -> v.Event:
        return msgspec.structs.replace(event, **changes)

    forge_exam(examined, tmp_path, instead(v.ExamOpened, bent))
    replace(examined.log_path, tmp_path, instead(v.ExamOpened, bent))
    exam = checked(examined)[1]
    assert not exam.ok and exam.detail.startswith(found)


def test_an_exam_of_an_earlier_state_that_is_called_the_latest_leaves_a_doubt(examined: Run, tmp_path: Path) -> None:
    reader = LogReader(examined.log_path)
    earlier = reader.resolve("iter-0")
    digests = next(event for event in reader.of(v.IterationClosed) if event.iteration == 0).digests

    def bent(event: v.Event) -> v.Event:
        return msgspec.structs.replace(event, head_seq=earlier, digests=digests)

    forge_exam(examined, tmp_path, instead(v.ExamOpened, bent))
    replace(examined.log_path, tmp_path, instead(v.ExamOpened, bent))
    exam = checked(examined)[1]
    assert exam.doubt and exam.detail.endswith("so it is not of the latest state")


def test_an_exam_that_asked_an_evolution_question_is_found(examined: Run, tmp_path: Path) -> None:
    learned = next(LogReader(examined.log_path).of(v.MemoryAppended)).question_id
    swap = instead(v.QuestionPlanned, lambda event: msgspec.structs.replace(event, question_id=learned))
    log = forge_exam(examined, tmp_path, swap)
    assert checked(examined)[1].detail == "it asked other questions than the 3 that it was opened for"
    asked = "\n".join(sorted(plan.question_id for plan in LogReader(log).of(v.QuestionPlanned)))

    def told(event: v.Event) -> v.Event:
        return msgspec.structs.replace(event, asked_sha256=sha256_text(asked))

    forge_exam(examined, tmp_path, instead(v.ExamOpened, told))
    replace(examined.log_path, tmp_path, instead(v.ExamOpened, told))
    exam = checked(examined)[1]
    assert not exam.ok and exam.detail == f"{learned} was asked in evolution too"


def test_a_better_answer_written_into_an_exam_is_found(examined: Run, tmp_path: Path) -> None:
    wrong = [e.question_id for e in LogReader(examined.exams()[0].log_path).of(v.AnswerJudged) if not e.correct]
    better = instead(
        v.AnswerJudged, lambda event: msgspec.structs.replace(event, correct=True), lambda e: e.question_id in wrong
    )
    honest = shutil.copytree(examined.log_path, tmp_path / "honest")
    forge_exam(examined, tmp_path, better)
    told = checked(examined)[1]
    assert wrong and not told.ok and "answers are right, but the run recorded" in told.detail
    shutil.rmtree(examined.log_path)
    honest.rename(examined.log_path)
    told = checked(examined)[1]
    assert not told.ok and "was replaced, cut or added to" in told.detail


@pytest.mark.slow
def test_an_exam_a_control_or_a_record_that_was_removed_is_missed_and_named(examined: Run, tmp_path: Path) -> None:
    examine(examined, questions=3, control="shuffled")
    examine(examined, at="start", questions=3)
    assert all(check.ok for check in checked(examined))
    kept = shutil.move(examined.exams_path / "0002-latest-shuffled", tmp_path / "control")
    [told] = [check for check in checked(examined) if not check.ok]
    assert told.name == "exam 0002-latest-shuffled"
    assert "is missing (builtin/analogist at latest, control shuffled: " in told.detail and "of 3 right" in told.detail

    def dropped(record: v.Record) -> Sequence[v.Event]:
        name = getattr(record.event, "exam", "")
        return [] if name == "0002-latest-shuffled" else [record.event]

    replace(examined.log_path, tmp_path, dropped)
    assert [check.name for check in checked(examined) if not check.ok] == ["exam 0002"]
    shutil.move(kept, examined.exams_path / "0002-latest-shuffled")
    put_back, gap = [check for check in checked(examined) if not check.ok]
    assert put_back.name == "exam 0002-latest-shuffled" and "knows no such exam" in put_back.detail
    assert gap.name == "exam 0002" and "without a gap" in gap.detail


def test_an_exam_that_was_put_there_is_found_and_one_that_was_broken_off_is_not_accused(examined: Run) -> None:
    with pytest.raises(BudgetReached):
        examine(examined, at="start", questions=3, runtime=Runtime(workers=1, limits=Limits(max_calls=1)))
    shutil.copytree(examined.exams_path / "0001-latest", examined.exams_path / "0003-latest")
    Log.create(examined.exams_path / "0004-empty" / "log", run="small/0004-empty", clock=clock).close()
    found = {check.name: check for check in checked(examined)}
    assert found["exam 0002-start"].ok and "unfinished" in found["exam 0002-start"].detail
    assert not found["exam 0003-latest"].ok and "knows no such exam" in found["exam 0003-latest"].detail
    assert found["exam 0004-empty"].ok and found["exam 0004-empty"].detail.startswith("never began")
    with pytest.raises(UsageError, match="has the number of the next exam"):
        examine(examined, questions=3, control="shuffled")


def test_an_exam_question_in_the_log_of_the_run_is_found(small_run: Run, tmp_path: Path) -> None:
    def examining(event: v.Event) -> v.Event:
        return msgspec.structs.replace(event, purpose="exam")

    forged(small_run.log_path, tmp_path / "run" / "log", instead(v.QuestionPlanned, examining))
    run = Run(small_run.id, tmp_path / "run")
    trace = checked(run)[0]
    named = next(iter(LogReader(run.log_path).records(since=trace.seq, until=trace.seq))).event
    assert not trace.ok and isinstance(named, v.QuestionPlanned) and named.purpose == "exam"


def test_whatever_a_run_learns_from_counts_as_learning() -> None:
    assert {v.MemoryAppended, v.BanditUpdated, v.ToolAuthored} <= learning_types()
    assert not {v.QuestionPlanned, v.ModelCalled, v.AnswerJudged} & learning_types()
