"""Exams are frozen, and leave no trace in the run."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.theorems.check import Check
from mage_es.engine.theorems.inference import check_inference, learning_types
from mage_es.engine.verbs.exam import examine
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import (
    AnswerJudged,
    BanditUpdated,
    Event,
    MemoryAppended,
    ModelCalled,
    QuestionPlanned,
    ToolAuthored,
)
from tests.engine.forgery import Change, after, forged, instead


@pytest.fixture
def examined(small_run: Run, tmp_path: Path) -> Run:
    run = Run(small_run.id, tmp_path / "copy")
    shutil.copytree(small_run.log_path, run.log_path)
    examine(run, at="latest", questions=3, control="none", data_dir=None, runtime=Runtime(workers=2))
    return run


def checked(run: Run) -> list[Check]:
    return list(check_inference(run, LogReader(run.log_path)))


def forge_exam(run: Run, folder: Path, change: Change) -> Path:
    exam = next(run.exams_path.glob("*"))
    forged(exam / "log", folder / "forged", change)
    shutil.rmtree(exam / "log")
    (folder / "forged").rename(exam / "log")
    return exam / "log"


def test_a_true_exam_was_frozen_and_the_run_shows_no_trace_of_it(examined: Run) -> None:
    trace, exam = checked(examined)
    assert trace.ok and trace.measured == "0 events of exams"
    assert exam.ok and exam.measured == exam.bound == "0 guidance calls, 0 learned"


@pytest.mark.paper("section 3.2, frozen inference")
def test_a_guidance_call_is_found(examined: Run, tmp_path: Path) -> None:
    change = instead(ModelCalled, lambda event: msgspec.structs.replace(event, tier="guidance"))
    log = forge_exam(examined, tmp_path, change)
    exam = checked(examined)[1]
    named = next(iter(LogReader(log).records(since=exam.seq, until=exam.seq))).event
    assert not exam.ok and isinstance(named, ModelCalled) and named.tier == "guidance"


def test_a_lesson_in_the_log_of_an_exam_is_found(examined: Run, tmp_path: Path) -> None:
    lesson = next(LogReader(examined.log_path).of(BanditUpdated))
    log = forge_exam(examined, tmp_path, after(AnswerJudged, lesson))
    exam = checked(examined)[1]
    named = next(iter(LogReader(log).records(since=exam.seq, until=exam.seq))).event
    assert not exam.ok and named == lesson and exam.measured == "0 guidance calls, 1 learned"


def test_an_exam_question_in_the_log_of_the_run_is_found(small_run: Run, tmp_path: Path) -> None:
    def examining(event: Event) -> Event:
        return msgspec.structs.replace(event, purpose="exam")

    forged(small_run.log_path, tmp_path / "run" / "log", instead(QuestionPlanned, examining))
    run = Run(small_run.id, tmp_path / "run")
    trace = checked(run)[0]
    named = next(iter(LogReader(run.log_path).records(since=trace.seq, until=trace.seq))).event
    assert not trace.ok and isinstance(named, QuestionPlanned) and named.purpose == "exam"


def test_whatever_a_run_learns_from_counts_as_learning() -> None:
    assert {MemoryAppended, BanditUpdated, ToolAuthored} <= learning_types()
    assert not {QuestionPlanned, ModelCalled, AnswerJudged} & learning_types()
