"""The live gain: what memory changes for real sessions, from the coin that held some of them back.

Rules
    - The unit is the session: the coin was tossed for it, and feedback within one is not independent. A session's value
      of a metric is the mean of all last scores in it; the gain is the difference of the means over sessions.
    - Welch's t interval on the means; if every session's value is 0 or 1, Newcombe's (from Wilson's of both shares),
      which holds near 0 and 1 as well. With fewer than `LEAST` sessions with a value on either side no interval is
      given: both methods would cover too little.
    - A session without feedback does not count. If one side has less feedback, the means are of different people, so
      both shares are reported, with the interval of their difference.
"""

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean, variance

import msgspec

from mage_es.engine.rules.distributions import LEAST, t_quantile, wilson

LEVEL = 0.95
WELCH, NEWCOMBE = "Welch's t on session means", "Newcombe's score interval on sessions"


class Difference(msgspec.Struct, frozen=True):
    """Memory minus holdback: n and mean of both sides, and the interval; `missing` more sessions are needed for one."""

    with_memory: int
    held_back: int
    mean_with_memory: float | None
    mean_held_back: float | None
    difference: float | None
    low: float | None
    high: float | None
    method: str
    missing: int


def compare_sides(pairs: Iterable[tuple[bool, float | None]]) -> Difference:
    """Return the difference of (held back, value) pairs, one for each session; None is a session without a value."""
    known = [(is_back, value) for is_back, value in pairs if value is not None]
    one = [value for is_back, value in known if not is_back]
    other = [value for is_back, value in known if is_back]
    mean, without = (fmean(side) if side else None for side in (one, other))
    missing = max(0, LEAST - len(one)) + max(0, LEAST - len(other))
    is_share = all(value in (0, 1) for value in (*one, *other))
    method = NEWCOMBE if is_share else WELCH
    gap = None if mean is None or without is None else mean - without
    low, high = (newcombe if is_share else welch)(one, other) if not missing else (None, None)
    return Difference(len(one), len(other), mean, without, gap, low, high, method, missing)


def welch(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the interval of mean(one) - mean(other) by Welch's t; both have two values or more. [Welch 1947]"""
    gap, parts = fmean(one) - fmean(other), [variance(side) / len(side) for side in (one, other)]
    if not sum(parts):
        return gap, gap
    freedom = sum(parts) ** 2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, (one, other), strict=True))
    half = t_quantile((1 + LEVEL) / 2, freedom) * sqrt(sum(parts))
    return gap - half, gap + half


def newcombe(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the interval of share(one) - share(other); all values must be 0 or 1. [Newcombe 1998, method 10]"""
    p, q = fmean(one), fmean(other)
    (low, high), (below, above) = (wilson(sum(side), len(side), level=LEVEL) for side in (one, other))
    return p - q - sqrt((p - low) ** 2 + (above - q) ** 2), p - q + sqrt((high - p) ** 2 + (q - below) ** 2)
