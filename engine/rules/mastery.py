"""The asymmetric mastery ratchet (Eq. 2): quick to rise, slow to fall.

It is biased upward by design, so the unbiased counts of successes and failures are kept beside it
(projections/evidence.py) and `lower_bound` may steer the frontier instead.
"""

from __future__ import annotations


def ratchet(mastery: float, evidence: float, *, increase: float, decay: float) -> float:
    """Return the mastery after one measurement; all values in [0, 1] (Eq. 2).

    Holds for every step: (1 - decay) * mastery <= result <= mastery + increase * (1 - mastery).
    """
    if evidence >= mastery:
        return increase * evidence + (1 - increase) * mastery
    return mastery - decay * (mastery - evidence)


def lower_bound(successes: int, failures: int, *, confidence: float = 0.95) -> float:
    """Return the one-sided lower bound of Beta(1 + successes, 1 + failures)."""
    from scipy.stats import beta

    return float(beta.ppf(1 - confidence, 1 + successes, 1 + failures))
