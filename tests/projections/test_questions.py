"""What happened to each evolution question."""

import msgspec

from mage_es.events.vocabulary import ActionTaken, AnswerJudged, IterationPlanned
from mage_es.projections.questions import History, Questions
from tests.projections.test_scores import judged


def planned(k: int, epoch: int, *fresh: str) -> IterationPlanned:
    return IterationPlanned(
        iteration=k, frontier=(), brief="", epoch=epoch, fresh=fresh, revisits=("never fresh",), repeats=()
    )


def test_a_failure_is_open_until_the_question_is_answered_right() -> None:
    questions = Questions()
    for event in (judged(0, "fresh", "b", correct=0), judged(0, "fresh", "a", correct=0)):
        questions.apply(event)
    assert questions.open_failures() == ["a", "b"]

    questions.apply(judged(1, "revisit", "a", correct=1))
    assert questions.open_failures() == ["b"]
    assert questions.history("a") == History(attempts=2, correct=True, iteration=1)

    questions.apply(judged(4, "fresh", "a", correct=0))
    assert questions.open_failures() == ["a", "b"]


def test_anchor_and_exam_questions_have_no_history() -> None:
    questions = Questions()
    questions.apply(judged(0, "anchor", "x", correct=0))
    questions.apply(judged(0, "exam", "y", correct=0))

    assert questions.history("x") is questions.history("y") is None
    assert questions.open_failures() == []


def test_within_one_iteration_a_wrong_answer_outweighs_a_right_one_in_either_order() -> None:
    verdicts = [judged(3, "fresh", "q", correct=1), judged(3, "revisit", "q", correct=0)]
    for order in (verdicts, verdicts[::-1]):
        questions = Questions()
        for verdict in order:
            questions.apply(verdict)
        assert questions.history("q") == History(attempts=2, correct=False, iteration=3)


def test_the_last_wrong_answer_is_kept_while_a_question_is_an_open_failure() -> None:
    def verdict(k: int, answer: str, correct: int) -> AnswerJudged:
        return msgspec.structs.replace(judged(k, "fresh", "q", correct=correct), answer=answer)

    for verdicts in ([verdict(1, "old", 0), verdict(2, "new", 0)], [verdict(2, "new", 0), verdict(1, "old", 0)]):
        questions = Questions()
        for event in verdicts:
            questions.apply(event)
        assert questions.wrong_answer("q") == "new"
        again = Questions()
        again.load(questions.dump())
        assert (again.wrong_answer("q"), again.digest()) == ("new", questions.digest())
    questions.apply(verdict(3, "right", 1))
    assert questions.wrong_answer("q") == ""


def test_a_question_whose_right_answer_is_doubted_is_no_open_failure() -> None:
    questions = Questions()
    for event in (judged(0, "fresh", "a", correct=0), judged(0, "fresh", "b", correct=0)):
        questions.apply(event)
    questions.apply(ActionTaken(iteration=0, action="", task_type="", outcome="", authored=0, doubtful=("a",)))
    assert questions.open_failures() == ["b"]


def test_how_often_a_question_was_fresh_is_counted_over_all_epochs() -> None:
    questions = Questions()
    for event in (planned(0, 0, "a", "b"), planned(1, 1, "a"), planned(2, 1, "a", "c")):
        questions.apply(event)

    assert questions.times_fresh() == {"a": 3, "b": 1, "c": 1}
    assert questions.times_fresh() == {"a": 3, "b": 1, "c": 1}
