"""Posteriors are what the last update said."""

from typing import Literal

from mage_es.events.vocabulary import BanditUpdated
from mage_es.projections.bandits import PRIOR, Bandits, Posterior
from tests.kit.plain_events import plain


def updated(bandit: Literal["search", "routing"], key: str, arm: str, after: Posterior) -> BanditUpdated:
    return plain(
        BanditUpdated,
        bandit=bandit,
        key=key,
        arm=arm,
        alpha_after=after.alpha,
        beta_after=after.beta,
        pulls_after=after.pulls,
    )


def test_the_posterior_is_assigned_for_that_bandit_key_and_arm_alone() -> None:
    bandits = Bandits()
    bandits.apply(updated("search", "rate", "diverse", Posterior(1_500_000, 1_500_000, 1)))
    bandits.apply(updated("search", "rate", "diverse", Posterior(2_000_000, 2_000_000, 2)))

    assert bandits.posterior("search", "rate", "diverse") == Posterior(2_000_000, 2_000_000, 2)
    for other in (("routing", "rate", "diverse"), ("search", "age", "diverse"), ("search", "rate", "none")):
        assert bandits.posterior(*other) == PRIOR


def test_every_part_of_a_posterior_is_in_the_digest() -> None:
    digests = set()
    for after in (Posterior(1, 2, 3), Posterior(4, 2, 3), Posterior(1, 4, 3), Posterior(1, 2, 4)):
        bandits = Bandits()
        bandits.apply(updated("routing", "algebra", "cot", after))
        digests.add(bandits.digest())
    assert len(digests) == 4
