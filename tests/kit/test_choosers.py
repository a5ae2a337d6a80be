"""The checks of bandits and curricula pass for the built-in ones, and find those that do not do what they say."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator, default_rng

from mage_es.engine.commands import Candidate
from mage_es.engine.rules.bandits import Choice, choose, choose_frozen, probabilities_of_best
from mage_es.engine.rules.curriculum import Signal, select_targets
from mage_es.events.vocabulary import MICRO
from mage_es.projections.bandits import Posterior
from tests.kit.choosers import Bandit, Curriculum, check_bandit, check_curriculum
from tests.kit.strategies import Failures, failures, posteriors

KEY = {"a": Posterior(3 * MICRO, 5 * MICRO, 6), "b": Posterior(6 * MICRO, 3 * MICRO, 7)}
LAMBDA = Fraction(3, 10)


def thompson(key: Mapping[str, Posterior], draw: Generator) -> Choice:
    return choose(key, planned={}, warmup=5, exploration=0.1, draw=draw)


@settings(deadline=None, max_examples=30)
@given(posteriors())
def test_thompson_sampling_does_what_it_says(key: Mapping[str, Posterior]) -> None:
    check_bandit(thompson, key)


def test_a_bandit_may_be_certain() -> None:
    check_bandit(lambda key, draw: choose_frozen(key, warmup=0, default="a"), KEY)


def uniform_in_truth(key: Mapping[str, Posterior], draw: Generator) -> Choice:
    arm = list(key)[int(draw.integers(len(key)))]
    shares = probabilities_of_best(tuple((p.alpha, p.beta) for p in key.values()))
    return Choice(arm, shares[list(key).index(arm)])


def overconfident(key: Mapping[str, Posterior], draw: Generator) -> Choice:
    return thompson(key, draw)._replace(probability=0.7)


def elsewhere(key: Mapping[str, Posterior], draw: Generator) -> Choice:
    return Choice("c", 1.0)


def never(key: Mapping[str, Posterior], draw: Generator) -> Choice:
    return Choice("a", 0.5)


OWN = default_rng(1)


def with_chance_of_its_own(key: Mapping[str, Posterior], draw: Generator) -> Choice:
    return Choice(list(key)[int(OWN.integers(len(key)))], 1 / len(key))


def moody(key: Mapping[str, Posterior], draw: Generator) -> Choice:
    return Choice("a", 0.4 + 0.2 * draw.random())


@pytest.mark.parametrize(
    ("bandit", "said"),
    [
        (uniform_in_truth, "times of"),
        (overconfident, "sum to 1.4"),
        (elsewhere, "not among the arms"),
        (never, "times of"),
        (with_chance_of_its_own, "another source of randomness"),
        (moody, "has the probabilities"),
    ],
)
def test_a_bandit_that_does_something_else_is_found(bandit: Bandit, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_bandit(bandit, KEY)


def round_robin(signal: Signal, *, count: int, weight: Fraction) -> Curriculum:
    def select(candidates: Sequence[Candidate], iteration: int) -> list[Candidate]:
        return select_targets(candidates, iteration=iteration, recency_weight=weight, count=count, signal=signal)

    return select


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["rate", "window", "open"])
@settings(deadline=None, max_examples=12)
@given(history=failures(), count=st.integers(1, 4), weight=st.fractions(Fraction(1, 20), Fraction(5)))
def test_the_round_robin_keeps_its_bound(signal: Signal, history: Failures, count: int, weight: Fraction) -> None:
    select = round_robin(signal, count=count, weight=weight)
    check_curriculum(select, history, signal=signal, recency_weight=weight, targets=count)


UNEVEN: Failures = [{"a": (8, 8), "b": (7, 8), "c": (1, 8)}] * 30


def greedy(candidates: Sequence[Candidate], iteration: int) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: -candidate.failures)[:2]


def grasping(candidates: Sequence[Candidate], iteration: int) -> list[Candidate]:
    return list(candidates)


def inventive(candidates: Sequence[Candidate], iteration: int) -> list[Candidate]:
    return [Candidate("z", 1, 1, 0)]


@pytest.mark.parametrize(
    ("curriculum", "said"),
    [(greedy, "c waits from"), (grasping, "where 2 may"), (inventive, "not all among the observed")],
)
def test_a_curriculum_that_starves_a_type_or_takes_what_it_may_not_is_found(curriculum: Curriculum, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_curriculum(curriculum, UNEVEN, signal="rate", recency_weight=LAMBDA, targets=2)
