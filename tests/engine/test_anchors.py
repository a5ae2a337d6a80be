"""Anchors are asked where they would see something new, until enough were, and each has a verdict at every snapshot."""

from __future__ import annotations

from mage_es.engine.rules.guard import LOOKS, Accepted, is_no_drop, parts
from mage_es.engine.run.directory import Run
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerCarried, AnswerJudged, GuardDecided, QuestionPlanned
from tests.engine.conftest import SMALL

RIGHT = {f"a{i}": True for i in range(100)}
START = Accepted(-1, RIGHT)


def test_every_snapshot_has_one_verdict_of_each_anchor_asked_or_carried(small_run: Run) -> None:
    reader = LogReader(small_run.log_path)
    asked = [(event.iteration, event.question_id) for event in reader.of(AnswerJudged) if event.purpose == "anchor"]
    carried = [(event.iteration, event.question_id) for event in reader.of(AnswerCarried)]
    anchors = {name for iteration, name in asked if iteration == -1}
    expected = {(k, name) for k in range(-1, SMALL.iterations) for name in anchors}
    assert sorted(asked + carried) == sorted(expected)
    assert carried
    assert {event.total for event in reader.of(GuardDecided)} == {len(anchors)}


def test_an_anchor_is_planned_again_only_where_it_would_see_something_new(small_run: Run) -> None:
    last: dict[str, str] = {}
    for _, event in LogReader(small_run.log_path).numbered(QuestionPlanned, AnswerJudged):
        if event.purpose != "anchor":
            continue
        if isinstance(event, QuestionPlanned):
            assert event.seen and event.seen != last.get(event.question_id)
        else:
            last[event.question_id] = event.seen
    assert last


def test_the_anchors_are_asked_in_parts_that_leave_none_out() -> None:
    for size in (0, 1, 3, 5, 100):
        order = [f"a{i}" for i in range(size)]
        assert [name for part in parts(order) for name in part] == order
        assert len(parts(order)) <= LOOKS


def test_enough_were_asked_once_one_more_lost_answer_would_still_be_within_the_guards_own_drop() -> None:
    def is_enough(wrong: int, *, best: Accepted = START) -> bool:
        now = {name: place >= wrong for place, name in enumerate(list(RIGHT)[:50])}
        return is_no_drop(now, previous=START, best=best, drop=0.03)

    assert is_enough(0) and not is_enough(1)
    assert not is_no_drop({}, previous=START, best=START, drop=0.03)
    wrong, worse = dict.fromkeys(list(RIGHT)[:50], False), Accepted(0, dict.fromkeys(RIGHT, False))
    assert is_no_drop(wrong, previous=worse, best=worse, drop=0.03)
    assert not is_no_drop(wrong, previous=worse, best=START, drop=0.03)
