"""Anchors are asked where they would see something new, until enough were, and each has a verdict at every snapshot."""

from mage_es.engine.histories.diff import diff
from mage_es.engine.rules.guard import LOOKS, Accepted, is_no_drop, parts
from mage_es.engine.run.directory import Run
from mage_es.engine.verbs.runs import summarise
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


def measured_in(run: Run) -> dict[int, dict[str, bool]]:
    """Return by iteration the anchors that were asked, or whose prompt was the same, as the log has them."""
    reader, found = LogReader(run.log_path), dict[int, dict[str, bool]]()
    planned = {(plan.iteration, plan.question_id) for plan in reader.of(QuestionPlanned) if plan.purpose == "anchor"}
    for _, event in reader.numbered(AnswerJudged, AnswerCarried):
        is_asked = isinstance(event, AnswerJudged) and event.purpose == "anchor"
        is_same = isinstance(event, AnswerCarried) and (event.iteration, event.question_id) not in planned
        if is_asked or is_same:
            found.setdefault(event.iteration, {})[event.question_id] = event.correct
    return found


def test_an_iterations_result_counts_the_anchors_that_were_measured_on_its_state(small_run: Run) -> None:
    measured, rows = measured_in(small_run), summarise(small_run).rows
    assert any(row.anchors_unmeasured for row in rows)
    for row in rows:
        answers = measured[row.iteration].values()
        assert (row.anchor_correct, row.anchor_total) == (sum(answers), len(answers))
        assert row.anchor_total + row.anchors_unmeasured == SMALL.anchors


def test_two_states_are_compared_by_the_anchors_that_both_measured(small_run: Run) -> None:
    measured = measured_in(small_run)
    few = next(k for k in sorted(measured) if len(measured[k]) < SMALL.anchors)
    report = diff(small_run, small_run, at=("start", f"iter-{few}"))
    [anchors] = report.answers
    was, now = measured[-1], measured[few]
    assert (anchors.total, anchors.after, report.anchors) == (len(now), sum(now.values()), SMALL.anchors)
    assert set(anchors.won) == {name for name in now if now[name] and not was[name]}


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
