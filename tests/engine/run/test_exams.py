"""An exam as its log tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.run.exams import RecordedExam, exam_records, read_exam
from mage_es.events.log import LogReader
from tests.engine.reporting.conftest import Bench, called, played


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "runs")


def exam(bench: Bench, letters: str, *facts: Any) -> RecordedExam:
    run = bench.run("r", after=letters, facts={"latest": facts})
    [record] = exam_records(LogReader(run.log_path))
    return read_exam(record.log(run), record)


def test_an_exam_has_its_verdicts_calls_and_episodes(bench: Bench) -> None:
    facts = (called("q0"), called("q1", tier="judge"), played("q0", score=0.5, steps=3, unparsed=1))
    found = exam(bench, "1j0", *facts)
    assert (found.name, found.marker, found.control, found.closed) == ("0001-latest", "latest", "none", True)
    assert found.answers["question_id"].to_list() == ["q0", "q1", "q2"]
    assert found.answers["judge"].to_list() == ["rule", "some/judge", "rule"]
    assert found.ledger.total("judge").calls == 1 and found.episodes["steps"].to_list() == [3]


def test_the_seconds_of_a_question_are_those_of_all_its_calls_to_the_execution_model(bench: Bench) -> None:
    calls = (called("q0/1", ms=200), called("q0/2", ms=300), called("q1", ms=500))
    aside = (called("q1", ms=900, tier="judge"), called("elsewhere", ms=900))
    assert exam(bench, "10", *calls, *aside).seconds == pytest.approx(0.5)


def test_a_baseline_is_an_exam_in_its_own_log(bench: Bench) -> None:
    reader = LogReader(bench.baseline("b", "react", "101").log_path)
    found = read_exam(reader)
    assert (found.marker, found.control, found.head_seq, found.closed) == ("latest", "none", reader.head.seq, True)
    assert found.answers["correct"].to_list() == [True, False, True]
