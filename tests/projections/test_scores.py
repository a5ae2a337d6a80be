"""The series of fresh questions, revisits and anchors."""

from typing import Literal

from mage_es.events.vocabulary import MICRO, AnswerJudged, AnswerUnanswered, GuardDecided, Purpose
from mage_es.projections.scores import Scores
from tests.kit.plain_events import plain
from tests.kit.stages import round_trip


def judged(k: int, purpose: Purpose, question_id: str, *, correct: int, task_type: str = "t") -> AnswerJudged:
    return plain(
        AnswerJudged,
        iteration=k,
        purpose=purpose,
        question_id=question_id,
        task_type=task_type,
        score_micro=MICRO * correct,
        correct=bool(correct),
    )


def decided(k: int, verdict: Literal["accepted", "soft_rollback", "hard_rollback", "off"]) -> GuardDecided:
    return plain(GuardDecided, iteration=k, verdict=verdict)


def test_series_are_kept_apart_and_split_by_task_type() -> None:
    scores = Scores()
    scores.apply(judged(0, "fresh", "q1", correct=1, task_type="b"))
    scores.apply(judged(0, "fresh", "q2", correct=0, task_type="b"))
    scores.apply(judged(0, "fresh", "q3", correct=1, task_type="a"))
    scores.apply(judged(0, "revisit", "q4", correct=1))
    scores.apply(judged(1, "fresh", "q5", correct=0))

    assert scores.score("fresh", 0) == (2, 3)
    assert scores.score("revisit", 0) == (1, 1)
    assert scores.score("fresh", 7) == (0, 0)
    assert list(scores.by_task_type("fresh", 0).items()) == [("a", (1, 1)), ("b", (1, 2))]


def test_anchor_answers_are_kept_by_question_and_others_are_not() -> None:
    scores = Scores()
    scores.apply(judged(-1, "anchor", "x", correct=1))
    scores.apply(judged(-1, "anchor", "y", correct=0))
    scores.apply(judged(-1, "fresh", "z", correct=0))

    assert scores.anchor_answers(-1) == {"x": True, "y": False}
    assert scores.anchor_answers(0) == {}


def test_accepted_snapshots_are_those_that_the_guard_accepted() -> None:
    scores = Scores()
    for event in (decided(-1, "accepted"), decided(1, "soft_rollback"), decided(0, "accepted"), decided(2, "off")):
        scores.apply(event)

    assert scores.accepted() == [-1, 0]
    assert (scores.verdict(1), scores.verdict(9)) == ("soft_rollback", "")


def test_counts_anchors_and_verdicts_are_all_in_the_digest() -> None:
    digests = set()
    for event in (
        judged(0, "fresh", "q", correct=1),
        judged(0, "fresh", "q", correct=0),
        judged(1, "fresh", "q", correct=1),
        judged(0, "anchor", "x", correct=1),
        judged(0, "anchor", "y", correct=1),
        decided(0, "accepted"),
        decided(0, "off"),
    ):
        scores = Scores()
        scores.apply(event)
        digests.add(scores.digest())
    assert len(digests) == 7


def test_a_question_without_an_answer_is_counted_apart_and_in_no_total() -> None:
    scores, others = Scores(), Scores()
    for each in (scores, others):
        each.apply(judged(0, "fresh", "q1", correct=1))
    lost = AnswerUnanswered(iteration=0, purpose="fresh", question_id="q2", task_type="t", skill="s", problem="busy")
    scores.apply(lost)

    assert (scores.score("fresh", 0), scores.unanswered("fresh", 0)) == ((1, 1), 1)
    assert (scores.unanswered("anchor", 0), scores.unanswered("fresh", 1), others.unanswered("fresh", 0)) == (0, 0, 0)
    assert scores.digest() != others.digest()
    loaded = Scores()
    loaded.load(round_trip(scores.dump()))
    assert (loaded.unanswered("fresh", 0), loaded.digest()) == (1, scores.digest())
