"""The table of hyperparameters: the actual values of runs, and the configured ones."""

from typing import Any

import pytest

from mage_es.engine.study.reporting.cells import StudyTable
from mage_es.engine.study.reporting.tables import settings


def rows(table: StudyTable) -> dict[Any, Any]:
    return {row[0]: row[1:] for row in table.rows}


@pytest.mark.paper("tables, bundles and settings")
def test_settings_stand_beside_the_papers_and_differences_are_marked(bench: Any) -> None:
    bench.run("a", pool=200, after="1")
    bench.run("b", pool=60, seed=2, after="1")
    found = rows(settings(bench.study()))
    assert found["pool"] == ("200", "60, 200", "differs")
    assert found["bundle"] == ("3", "3", "")
    assert found["tools"] == ("on", "on", "")


@pytest.mark.paper("tables, bundles and settings")
def test_what_was_taken_is_shown_and_what_was_asked_for_where_that_was_more(bench: Any) -> None:
    bench.run("a", after="1" * 43, taken={"evolution": 74, "anchors": 11, "held_out": 43})
    bench.run("b", seed=2, after="1" * 42, taken={"evolution": 75, "anchors": 11, "held_out": 42})
    found = rows(settings(bench.study()))
    assert found["held_out"] == ("200", "42 to 43 (200)", "differs")
    assert found["anchors"] == ("0", "11 (100)", "differs")
    # the first event says what the types are made from
    assert found["task_types"][1] == "metadata (benchmark)"


def test_a_run_that_has_not_finished_had_as_many_iterations_as_it_closed(bench: Any) -> None:
    bench.run("a", iterations=2, finished=False)
    assert rows(settings(bench.study()))["iterations"][1] == "2"
    config = {"benchmark": "truthworld", "seed": 2}
    bench.run("b", iterations=2, told=5, finished=False, **config)
    assert rows(settings(bench.study()))["iterations"][1] == "truthworld: 2 (5); wordmath: 2"


def test_an_exam_of_fewer_questions_than_were_set_aside_is_said(bench: Any) -> None:
    bench.run("a", after="11", taken={"held_out": 30})
    assert settings(bench.study()).notes == ("The exam of a asked 2 of 30 questions.",)
