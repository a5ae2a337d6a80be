"""The guard notices a real drop on the same questions and seldom a chance one; the paper's compares raw accuracies."""

import pytest
from pytest import approx, mark

from mage_es.engine.rules.guard import (
    Accepted,
    Accuracy,
    Comparison,
    compare,
    decide_guard,
    decide_raw,
    smallest_drop,
    smallest_raw_drop,
)

LIMITS = {"drop": 0.03, "p": 0.04, "hard_drop": 0.05, "hard_p": 0.001}


def answers(correct: int, total: int = 100) -> dict[str, bool]:
    return {f"q{i:03d}": i < correct for i in range(total)}


def test_a_drop_is_a_difference_on_the_same_questions() -> None:
    now = answers(80) | {"q000": False, "q099": True}
    comparison = compare(now, Accepted(3, answers(80)))
    assert (comparison.iteration, comparison.drop, comparison.p_value) == (3, 0.0, 0.75)


@pytest.mark.paper("Algorithm 1, line 6")
@mark.parametrize(
    ("correct", "verdict", "restored"),
    [(80, "accepted", None), (76, "accepted", None), (75, "soft_rollback", 4), (70, "hard_rollback", 2)],
)
def test_the_verdict_follows_the_size_of_the_drop(correct: int, verdict: str, restored: int | None) -> None:
    decision = decide_guard(
        answers(correct), previous=Accepted(4, answers(80)), best=Accepted(2, answers(80)), **LIMITS
    )
    assert (decision.verdict, decision.restore) == (verdict, restored)


def test_a_catastrophe_against_the_best_goes_before_a_drop_against_the_previous() -> None:
    decision = decide_guard(answers(60), previous=Accepted(4, answers(70)), best=Accepted(1, answers(90)), **LIMITS)
    assert (decision.verdict, decision.restore) == ("hard_rollback", 1)


def test_an_improvement_is_accepted() -> None:
    decision = decide_guard(answers(90), previous=Accepted(4, answers(80)), best=Accepted(4, answers(80)), **LIMITS)
    assert decision.verdict == "accepted"


def test_the_smallest_noticeable_drop_is_five_questions_of_a_hundred() -> None:
    assert smallest_drop(100, drop=0.03, p=0.04) == 0.05
    assert smallest_drop(300, drop=0.03, p=0.04) == approx(10 / 300)
    assert smallest_drop(3, drop=0.03, p=0.04) == 1.0


@pytest.mark.paper("Algorithm 1, line 6")
@mark.parametrize(
    ("correct", "verdict", "restored"),
    [(164, "accepted", None), (163, "soft_rollback", 5), (160, "soft_rollback", 5), (159, "hard_rollback", 2)],
)
def test_the_papers_guard_compares_raw_accuracies_exactly(correct: int, verdict: str, restored: int | None) -> None:
    """170 - 164 of 200 is a drop of 0.03, which is not more than delta, though 0.85 - 0.82 > 0.03 in floating point."""
    decision = decide_raw(
        Accuracy(7, correct, 200),
        previous=Accuracy(6, 170, 200),
        best=Accuracy(2, 170, 200),
        restore=5,
        drop=0.03,
        hard_drop=0.05,
    )
    assert (decision.verdict, decision.restore) == (verdict, restored)
    assert decision.previous == Comparison(6, approx((170 - correct) / 200), 1.0)


def test_the_papers_guard_compares_iterations_with_different_numbers_of_fresh_questions() -> None:
    now, then = Accuracy(1, 80, 100), Accuracy(0, 170, 200)
    decision = decide_raw(now, previous=then, best=then, restore=0, drop=0.03, hard_drop=0.05)
    assert (decision.verdict, decision.previous.drop) == ("soft_rollback", approx(0.05))


def test_the_smallest_raw_drop_is_one_question_more_than_delta() -> None:
    assert smallest_raw_drop(200, drop=0.03) == 7 / 200
    assert smallest_raw_drop(10, drop=0.03) == 1 / 10
    assert smallest_raw_drop(0, drop=0.03) == 1.0
