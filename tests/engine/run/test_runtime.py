"""How well the questions of a phase are going."""

from mage_es.engine.run.runtime import ACCURACY, MEAN_SCORE, RunningScore, measure_of
from mage_es.events.vocabulary import AnswerJudged, Purpose
from tests.kit.plain_events import plain


def verdict(purpose: Purpose, *, score: float, correct: bool) -> AnswerJudged:
    return plain(AnswerJudged, purpose=purpose, question_id="q", score_micro=round(score * 1_000_000), correct=correct)


def test_accuracy_and_mean_score_are_of_what_was_asked_afresh_and_revisits_are_counted_apart() -> None:
    score = RunningScore("evaluate", [verdict("fresh", score=0.25, correct=False)])
    score.add(verdict("fresh", score=0.75, correct=True))
    score.add(verdict("revisit", score=1.0, correct=True))
    score.add(verdict("revisit", score=0.0, correct=False))
    assert (score.level(ACCURACY), score.level(MEAN_SCORE)) == (0.5, 0.5)
    score.add(verdict("fresh", score=0.5, correct=True))
    assert (score.level(ACCURACY), score.level(MEAN_SCORE)) == (2 / 3, 0.5)
    assert (score.revisits_right, score.revisits) == (1, 2)


def test_before_the_first_verdict_there_is_nothing_to_tell() -> None:
    assert RunningScore("snapshot").level(ACCURACY) is None


def test_what_counts_for_episodes_is_their_mean_score() -> None:
    assert (measure_of(are_episodes=True), measure_of(are_episodes=False)) == ("mean score", "accuracy")
