"""Which arm to pull: Thompson sampling with a known probability for every choice.

Rules
    - Each key (a task type or a skill) warms up until each of its arms has `warmup` pulls. Until then all arms are
      equally likely.
    - After the warm-up the choice is uniform with probability `exploration`. Otherwise the arm with the largest draw
      from its Beta posterior is pulled. The log has the probability with which the chosen arm was drawn.
    - Posteriors are kept as integers, in millionths. They start from Beta(1, 1).
    - Only arms that differ for a question are offered to it. A new arm puts its key back into warm-up.
    - A frozen bandit serves the arm with the best lower bound, not the best mean: seven lucky pulls prove little.
    - A skill that was split from another starts from its parent's posteriors, discounted, until it gets its first
      reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from mage_es.engine.rules.distributions import beta_cdf, beta_quantile
from mage_es.events.vocabulary import MICRO, BanditUpdated
from mage_es.projections.bandits import Posterior

if TYPE_CHECKING:
    import numpy as np
    from numpy.random import Generator
    from numpy.typing import NDArray

    from mage_es.engine.config import Config
    from mage_es.projections.fold import State

_BINS = 2048
_CONFIDENCE = 0.05  # the quantile of a posterior that is its lower bound


class Choice(NamedTuple):
    """An arm, the probability with which it was drawn, and the probabilities of all arms in the draw; empty if nothing
    was drawn.
    """

    arm: str
    probability: float
    among: Mapping[str, float] = {}


def rewarded(posterior: Posterior, reward_micro: int) -> Posterior:
    """Return the posterior after a reward r in [0, MICRO]: alpha += r, beta += 1 - r."""
    # Integers: sums of floats would depend on the order in which answers arrived.
    return Posterior(posterior.alpha + reward_micro, posterior.beta + MICRO - reward_micro, posterior.pulls + 1)


def update_of(
    pulled: tuple[Literal["search", "routing"], str, str], about: str, reward: int, before: Posterior, after: Posterior
) -> BanditUpdated:
    """Return an update of an arm's posterior, for a bandit and key; `about` is the question or inference that is
    rewarded.
    """
    bandit, key, arm = pulled
    return BanditUpdated(
        bandit=bandit,
        key=key,
        arm=arm,
        question_id=about,
        reward_micro=reward,
        alpha_before=before.alpha,
        beta_before=before.beta,
        alpha_after=after.alpha,
        beta_after=after.beta,
        pulls_after=after.pulls,
    )


def warmup_pulls(configured: int, *, expected_pulls: float, arms: int) -> int:
    """Return the pulls of each arm before Thompson sampling; 0 means a quarter of the pulls expected, within [2, 20].

    [hyperparameters, warm-up] With the paper's 20 most keys never finish.
    """
    return configured or int(min(20, max(2, expected_pulls / 4 / arms)))


def choose(
    posteriors: Mapping[str, Posterior], *, planned: Mapping[str, int], warmup: int, exploration: float, draw: Generator
) -> Choice:
    """Return an arm. `planned` counts the pulls already planned in this iteration, which also count towards the
    warm-up.

    [section 3.2, search bandit] Every choice is logged with its probability.
    """
    # Always drawn first, so that a question's stream is the same during and after warm-up.
    arms = list(posteriors)
    uniform = arms[int(draw.integers(len(arms)))]
    if is_warming_up(posteriors, warmup=warmup, planned=planned):
        return Choice(uniform, 1 / len(arms), dict.fromkeys(arms, 1 / len(arms)))
    explores = draw.random() < exploration
    best = max(arms, key=lambda arm: draw.beta(posteriors[arm].alpha / MICRO, posteriors[arm].beta / MICRO))
    arm = uniform if explores else best
    # The logged probability is computed, not counted, because off-policy estimates divide by it.
    shares = probabilities_of_best(tuple((p.alpha, p.beta) for p in posteriors.values()))
    among = {
        name: (1 - exploration) * share + exploration / len(arms) for name, share in zip(arms, shares, strict=True)
    }
    return Choice(arm, among[arm], among)


def choose_frozen(posteriors: Mapping[str, Posterior], *, warmup: int, default: str) -> Choice:
    """Return the arm with the largest lower bound (5 % quantile) among `default` and those with `warmup` pulls."""
    # Frozen use draws nothing: an exam of the same state asks every question in the same way.
    known = [arm for arm, posterior in posteriors.items() if arm == default or posterior.pulls >= max(1, warmup)]
    return Choice(max(known, key=lambda arm: _lower_bound(*posteriors[arm][:2])), 1.0)


def posterior_of(config: Config, state: State, bandit: Literal["search", "routing"], key: str, arm: str) -> Posterior:
    """Return the posterior of an arm. A split skill without a reward for the arm has its parent's posterior,
    discounted.
    """
    own = state.bandits.posterior(bandit, key, arm)
    parent = state.graph.parent(key) if bandit == "routing" and not own.pulls else ""
    return discounted(posterior_of(config, state, bandit, parent, arm), config.split_discount) if parent else own


def discounted(posterior: Posterior, discount: float) -> Posterior:
    """Return a posterior as if it came from fewer pulls with the same mean reward."""
    kept = Fraction(str(discount))
    alpha, beta = (MICRO + int(kept * (value - MICRO)) for value in posterior[:2])
    return Posterior(alpha, beta, int(kept * posterior.pulls))


def is_warming_up(posteriors: Mapping[str, Posterior], *, warmup: int, planned: Mapping[str, int]) -> bool:
    return any(posterior.pulls + planned.get(arm, 0) < warmup for arm, posterior in posteriors.items())


@lru_cache(maxsize=4096)
def probabilities_of_best(parameters: Sequence[tuple[int, int]]) -> tuple[float, ...]:
    """Return P(arm is best) for independent Beta posteriors in millionths. The probabilities sum to 1; they are
    computed from differences of the distribution functions on 2,048 bins.
    """
    import numpy as np

    # P(i is best) is the integral of f_i times all other F_j: on bins, the mass of i times the middles of the F_j.
    below = np.array([_distribution(alpha, beta) for alpha, beta in parameters])
    mass = np.diff(below, axis=1)
    middle = (below[:, 1:] + below[:, :-1]) / 2
    best = [float((mass[i] * np.delete(middle, i, axis=0).prod(axis=0)).sum()) for i in range(len(parameters))]
    return tuple(share / sum(best) for share in best)


@lru_cache(maxsize=1024)
def _distribution(alpha: int, beta: int) -> NDArray[np.float64]:
    """Return the distribution function of a Beta posterior at the edges of the bins; most arms of a key do not change
    from one iteration to the next."""
    import numpy as np

    return beta_cdf(alpha / MICRO, beta / MICRO, np.linspace(0.0, 1.0, _BINS + 1))


@lru_cache(maxsize=4096)
def _lower_bound(alpha: int, beta: int) -> float:
    # Rounded, so that the last bits never decide between arms.
    return round(float(beta_quantile(alpha / MICRO, beta / MICRO, _CONFIDENCE)), 9)
