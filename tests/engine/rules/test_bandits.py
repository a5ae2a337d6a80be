"""Both bandits draw with the probability that they log."""

from collections import Counter

from pytest import approx

from mage_es.engine.rules.bandits import (
    choose,
    choose_frozen,
    probabilities_of_best,
    rewarded,
    warmup_pulls,
)
from mage_es.engine.rules.randomness import stream
from mage_es.events.vocabulary import MICRO
from mage_es.projections.bandits import Posterior

PULLED = {
    "a": Posterior(3 * MICRO, 5 * MICRO, 6),
    "b": Posterior(6 * MICRO, 3 * MICRO, 7),
    "c": Posterior(4 * MICRO, 4 * MICRO, 6),
}


def test_a_reward_moves_alpha_and_its_complement_beta() -> None:
    assert rewarded(Posterior(MICRO, MICRO, 0), 250_000) == Posterior(1_250_000, 1_750_000, 1)


def test_warmup_is_a_quarter_of_the_expected_pulls_between_two_and_twenty() -> None:
    assert warmup_pulls(0, expected_pulls=160, arms=5) == 8
    assert warmup_pulls(0, expected_pulls=5, arms=5) == 2
    assert warmup_pulls(0, expected_pulls=10_000, arms=5) == 20
    assert warmup_pulls(7, expected_pulls=10_000, arms=5) == 7


def test_in_warmup_every_arm_is_equally_likely() -> None:
    choice = choose(PULLED, planned={}, warmup=7, exploration=0.02, draw=stream(1, "search", 0, "q"))
    assert choice.probability == approx(1 / 3)


def test_pulls_planned_in_the_same_iteration_end_the_warmup() -> None:
    planned = {"a": 1, "c": 1}
    choice = choose(PULLED, planned=planned, warmup=7, exploration=0.02, draw=stream(1, "search", 0, "q"))
    assert choice.probability != approx(1 / 3)


def test_arms_are_drawn_as_often_as_their_logged_probability_says() -> None:
    drawn: Counter[str] = Counter()
    logged: dict[str, float] = {}
    for i in range(4000):
        choice = choose(PULLED, planned={}, warmup=0, exploration=0.02, draw=stream(1, "search", 0, f"q{i}"))
        drawn[choice.arm] += 1
        logged[choice.arm] = choice.probability
    assert sum(logged.values()) == approx(1.0)
    for arm, probability in logged.items():
        deviation = (probability * (1 - probability) / 4000) ** 0.5
        assert abs(drawn[arm] / 4000 - probability) < 4 * deviation


def test_the_probability_of_being_best_is_a_half_for_equal_arms() -> None:
    assert probabilities_of_best(((MICRO, MICRO), (MICRO, MICRO))) == approx((0.5, 0.5))


def test_the_probability_of_being_best_agrees_with_the_closed_form_of_two_arms() -> None:
    """For X ~ Beta(2, 1) and Y ~ Beta(1, 1): P(X > Y) = E[X] = 2/3."""
    assert probabilities_of_best(((2 * MICRO, MICRO), (MICRO, MICRO)))[0] == approx(2 / 3, abs=1e-6)


def test_the_same_key_draws_the_same_arm() -> None:
    one, other = (
        choose(PULLED, planned={}, warmup=0, exploration=0.02, draw=stream(9, "search", 4, "q7")) for _ in range(2)
    )
    assert one == other


def test_frozen_the_best_mean_is_served_and_a_key_in_warmup_serves_the_default() -> None:
    assert choose_frozen(PULLED, warmup=6, default="c") == ("b", 1.0)
    assert choose_frozen(PULLED, warmup=7, default="c") == ("c", 1.0)
