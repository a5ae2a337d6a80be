"""The gain of a run: from its start to its newest state, whatever was examined later."""

import msgspec

from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import exam_records
from mage_es.engine.verbs.exam import examine
from mage_es.engine.viewing.card import gain_of, pair_of
from mage_es.engine.viewing.chunks import Viewed
from mage_es.events.log import LogReader
from tests.engine.viewing.test_chunks import table


def test_an_exam_of_an_earlier_state_is_no_newer_measure(copied: Run) -> None:
    before = table(Viewed(copied), "overview")[-1]
    examine(copied, at="iter-0")
    examine(copied, at="latest", control="shuffled")
    rows = table(Viewed(copied), "overview")
    assert {rows[-1][name] for name in ("exam", "exam_before")} == {before["exam"], before["exam_before"]}
    assert rows[-1]["gain"] == before["gain"] is not None


def test_the_start_is_that_which_the_same_models_answered(copied: Run) -> None:
    start, latest = exam_records(LogReader(copied.log_path))
    other = latest._replace(opened=msgspec.structs.replace(latest.opened, execution="other/model"))
    learner = latest.opened.execution
    assert pair_of([start, latest], learner) == (start.opened.exam, latest.opened.exam)
    assert pair_of([start, other], learner) is None
    unfinished = latest._replace(closed=None)
    assert pair_of([start, unfinished], learner) is None


def test_a_gain_is_over_the_questions_that_both_asked() -> None:
    gain = gain_of("one", {"a": False, "b": True, "c": True}, "two", {"a": True, "b": True, "d": False})
    assert gain and (gain.gain, gain.exam_before, gain.exam) == (50.0, "one", "two") and gain.low <= 50 <= gain.high
    assert gain_of("one", {"a": True}, "two", {"b": True}) is None
