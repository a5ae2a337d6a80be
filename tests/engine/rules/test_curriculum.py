"""The round-robin is exact and covers every type; the frontier is what can be learned next."""

from collections.abc import Mapping
from fractions import Fraction

import pytest

from mage_es.engine.commands import Candidate
from mage_es.engine.rules.curriculum import Signal, candidates_of, frontier, n_fail, select_targets
from mage_es.events.vocabulary import AnswerJudged, Purpose
from mage_es.projections.scores import Scores
from tests.kit.plain_events import plain

LAMBDA = Fraction(3, 10)


def chosen(candidates: list[Candidate], iteration: int, count: int = 3, signal: Signal = "rate") -> list[str]:
    targets = select_targets(candidates, iteration=iteration, recency_weight=LAMBDA, count=count, signal=signal)
    return [target.task_type for target in targets]


def test_the_type_with_the_higher_failure_rate_comes_first() -> None:
    assert chosen([Candidate("a", 1, 10, 4), Candidate("b", 9, 10, 4)], 5) == ["b", "a"]


@pytest.mark.paper("Eq. 1")
def test_waiting_outweighs_failing_in_the_end() -> None:
    assert chosen([Candidate("waits", 0, 10, 0), Candidate("fails", 10, 10, 4)], 5, count=1) == ["waits"]


@pytest.mark.paper("Eq. 1")
def test_a_tie_in_exact_fractions_goes_to_the_longer_waiting_then_the_smaller_name() -> None:
    """1/10 + 3/10 * 2 = 4/10 + 3/10 * 1, which floating point gets wrong."""
    tied = [Candidate("b", 4, 10, 4), Candidate("a", 1, 10, 3), Candidate("c", 1, 10, 3)]
    assert chosen(tied, 5) == ["a", "c", "b"]


def test_the_window_signal_counts_failures_instead_of_their_rate() -> None:
    few, many = Candidate("few", 2, 2, 4), Candidate("many", 5, 50, 4)
    assert chosen([few, many], 5) == ["few", "many"]
    assert chosen([few, many], 5, signal="window") == ["many", "few"]


def test_a_type_without_attempts_has_no_failures() -> None:
    assert n_fail(Candidate("a", 0, 0, 1), "rate") == 0


def answered(*iterations: Mapping[str, tuple[int, int]]) -> Scores:
    """Return the scores of iterations in which each type had (failures, attempts) fresh answers."""
    scores = Scores()
    for k, types in enumerate(iterations):
        for task_type, (failures, attempts) in types.items():
            for place in range(attempts):
                scores.apply(judged(k, task_type, correct=place >= failures))
    return scores


def judged(iteration: int, task_type: str, *, correct: bool, purpose: Purpose = "fresh") -> AnswerJudged:
    return plain(
        AnswerJudged, iteration=iteration, purpose=purpose, question_id="q", task_type=task_type, correct=correct
    )


@pytest.mark.paper("Eq. 1, n_fail")
@pytest.mark.parametrize(
    ("signal", "failures", "attempts"), [("rate", 1, 5), ("window", 1, 5), ("open", 4, 8), ("cumulative", 6, 12)]
)
def test_each_signal_counts_the_fresh_answers_of_its_own_stretch(signal: Signal, failures: int, attempts: int) -> None:
    scores = answered({"a": (2, 4)}, {"a": (3, 3)}, {"a": (1, 5)})
    scores.apply(judged(2, "a", correct=False, purpose="revisit"))
    [candidate] = candidates_of(scores, {"a": 0}, iteration=2, signal=signal)
    assert candidate == Candidate("a", failures, attempts, 0)


def test_with_the_open_signal_failures_wait_until_their_type_is_selected() -> None:
    scores = answered({"a": (5, 5), "b": (1, 5)}, {"a": (0, 5), "b": (1, 5)})
    for last, expected in ({"a": -1, "b": -1}, [5, 2]), ({"a": 0, "b": -1}, [0, 2]):
        found = candidates_of(scores, last, iteration=1, signal="open")
        assert [n_fail(candidate, "open") for candidate in found] == expected


@pytest.mark.paper("Algorithm 1, line 1")
def test_a_skill_is_learnable_once_all_its_prerequisites_are_mastered() -> None:
    needs = {"b": ["a"], "c": ["a", "b"]}
    assert frontier({"a": 0.2, "b": 0.0, "c": 0.0}, needs, 0.5) == ["a"]
    assert frontier({"a": 0.5, "b": 0.1, "c": 0.0}, needs, 0.5) == ["b"]


@pytest.mark.paper("Algorithm 1, line 1")
def test_where_nothing_is_learnable_the_lowest_mastery_is_worked_on() -> None:
    assert frontier({"a": 0.9, "b": 0.6, "c": 0.6}, {}, 0.5) == ["b", "c"]
    assert frontier({}, {}, 0.5) == []
