"""The asymmetric mastery ratchet (Eq. 2): quick to rise, slow to fall.

Mastery is biased upward by design. So the unbiased counts of successes and failures are kept as well
(projections/evidence.py), and `lower_bound` can steer the frontier instead.
"""

from mage_es.engine.rules.distributions import beta_quantile


def ratchet(mastery: float, evidence: float, *, increase: float, decay: float) -> float:
    """Return the mastery after one measurement; all values in [0, 1].

    For every step: (1 - decay) * mastery <= result <= mastery + increase * (1 - mastery).

    [Eq. 2] Without evidence there is no step.
    """
    # Two cases, not one formula: with gamma < alpha a bad iteration costs less than a good one brings, so mastery that
    # was reached is not lost to noise. `config.mastery_increase` is alpha and `config.mastery_decay` gamma; `verify`
    # checks Theorem 3 with those of the run, for any values in [0, 1].
    if evidence >= mastery:
        return increase * evidence + (1 - increase) * mastery
    return mastery - decay * (mastery - evidence)


def lower_bound(successes: int, failures: int, *, confidence: float = 0.95) -> float:
    """Return the one-sided lower bound of Beta(1 + successes, 1 + failures).

    [Eq. 2] An unbiased estimate that the frontier may use instead.
    """
    return float(beta_quantile(1 + successes, 1 + failures, 1 - confidence))
