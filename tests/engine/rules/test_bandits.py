"""Both bandits draw with the probability that they log."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from scipy.stats import chisquare

from mage_es.engine.rules.bandits import (
    Choice,
    choose,
    choose_frozen,
    posterior_of,
    probabilities_of_best,
    rewarded,
    warmup_pulls,
)
from mage_es.engine.rules.randomness import stream
from mage_es.events.vocabulary import MICRO, SkillCreated
from mage_es.projections.bandits import PRIOR, Posterior
from tests.engine.rules.states import Built, setting_of

PULLED = {
    "a": Posterior(3 * MICRO, 5 * MICRO, 6),
    "b": Posterior(6 * MICRO, 3 * MICRO, 7),
    "c": Posterior(4 * MICRO, 4 * MICRO, 6),
}


def test_a_reward_moves_alpha_and_its_complement_beta() -> None:
    assert rewarded(Posterior(MICRO, MICRO, 0), 250_000) == Posterior(1_250_000, 1_750_000, 1)


@pytest.mark.paper("hyperparameters, warm-up")
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


@st.composite
def keys(draw: st.DrawFn) -> dict[str, Posterior]:
    """Draw the posteriors of a key with one to seven arms."""
    parameters = st.integers(MICRO // 2, 60 * MICRO)
    arms = range(draw(st.integers(1, 7)))
    return {f"arm{i}": Posterior(draw(parameters), draw(parameters), draw(st.integers(0, 30))) for i in arms}


@pytest.mark.paper("section 3.2, search bandit")
@settings(deadline=None)
@given(keys(), st.floats(0, 1), st.integers(0, 30))
def test_the_probabilities_of_all_arms_sum_to_one(key: dict[str, Posterior], exploration: float, warmup: int) -> None:
    logged: dict[str, float] = {}
    shares = probabilities_of_best(tuple((p.alpha, p.beta) for p in key.values()))
    assert sum(shares) == approx(1.0)
    for i in range(50):
        choice = choose(key, planned={}, warmup=warmup, exploration=exploration, draw=stream(1, "search", i, "q"))
        assert 0 < choice.probability <= 1 + 1e-12
        assert logged.setdefault(choice.arm, choice.probability) == choice.probability
    if set(logged) == set(key):
        assert sum(logged.values()) == approx(1.0)


LATE = {"none": Posterior(2 * MICRO, 3 * MICRO, 3), "balanced": Posterior(9 * MICRO, 4 * MICRO, 11)}


@pytest.mark.slow
@pytest.mark.paper("section 3.2, search bandit")
@pytest.mark.parametrize(
    ("key", "warmup", "exploration"),
    [
        (PULLED, 0, 0.02),
        (PULLED, 7, 0.02),
        (PULLED, 0, 0.5),
        (LATE, 2, 0.02),
        ({**LATE, "recipe": PRIOR}, 0, 0.02),
        ({**LATE, "recipe": PRIOR}, 2, 0.02),
    ],
    ids=["thompson", "warm-up", "much exploration", "before an arm came", "a new arm", "a new arm in warm-up"],
)
def test_arms_are_drawn_as_often_as_their_logged_probability_says(
    key: dict[str, Posterior], warmup: int, exploration: float
) -> None:
    """A chi-square test over 6,000 seeded draws: a wrong probability fails it, a right one has p uniform in [0, 1]."""
    drawn: Counter[str] = Counter()
    logged: dict[str, float] = {}
    for i in range(6000):
        choice = choose(key, planned={}, warmup=warmup, exploration=exploration, draw=stream(1, "search", 0, f"q{i}"))
        drawn[choice.arm] += 1
        logged[choice.arm] = choice.probability
    assert set(logged) == set(key)
    assert sum(logged.values()) == approx(1.0)
    assert chisquare([drawn[arm] for arm in key], [6000 * logged[arm] for arm in key]).pvalue > 0.001


def test_a_new_arm_starts_even_and_brings_its_key_back_into_warmup() -> None:
    warm = choose(LATE, planned={}, warmup=3, exploration=0.0, draw=stream(1, "search", 0, "q"))
    assert warm.probability != approx(1 / 2)
    colder = choose({**LATE, "recipe": PRIOR}, planned={}, warmup=3, exploration=0.0, draw=stream(1, "search", 0, "q"))
    assert colder.probability == approx(1 / 3)


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


@pytest.mark.paper("section 3.2, search bandit")
def test_frozen_the_best_lower_bound_is_served_and_not_the_best_mean() -> None:
    lucky = {"few": Posterior(7 * MICRO, MICRO, 6), "many": Posterior(80 * MICRO, 20 * MICRO, 98)}
    assert choose_frozen(lucky, warmup=2, default="few") == Choice("many", 1.0)
    assert choose_frozen(PULLED, warmup=6, default="c") == Choice("b", 1.0)


def test_frozen_an_arm_of_few_pulls_leaves_the_choice_to_the_others_and_at_last_to_the_default() -> None:
    assert choose_frozen(PULLED, warmup=8, default="c") == Choice("c", 1.0)
    key = {**LATE, "recipe": Posterior(9 * MICRO, MICRO, 2)}
    assert choose_frozen(key, warmup=3, default="none") == Choice("balanced", 1.0)
    assert choose_frozen(key, warmup=2, default="none") == Choice("recipe", 1.0)
    assert choose_frozen({"none": PRIOR, "balanced": PRIOR}, warmup=0, default="balanced") == Choice("balanced", 1.0)


def test_frozen_a_tie_goes_by_arm_order() -> None:
    key = {"b": Posterior(2 * MICRO, 3 * MICRO, 3), "a": Posterior(2 * MICRO, 3 * MICRO, 3)}
    assert choose_frozen(key, warmup=0, default="a").arm == "b"


def test_a_skill_begins_with_its_parents_posteriors_discounted_until_its_first_reward() -> None:
    built, setting = Built(), setting_of(split_discount=0.25)
    built.reward("tool", alpha=9, beta=5, pulls=12)
    built.state.apply(SkillCreated(skill="part", mastery=0.0, prompt_template="", strategy="", parent="goal"))

    def of(arm: str) -> Posterior:
        return posterior_of(setting.config, built.state, "routing", "part", arm)

    assert of("tool") == (3 * MICRO, 2 * MICRO, 3)
    assert of("cot") == PRIOR
    built.reward("tool", skill="part", alpha=2, beta=1, pulls=1)
    assert of("tool") == (2 * MICRO, MICRO, 1)
