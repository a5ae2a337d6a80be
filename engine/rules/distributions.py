"""The distributions behind intervals and tests: beta and t are within 1e-12 of the true value, counts are exact.

Rules
    - A p value of counts is a sum of integers, divided once at the end, so it is the same on every machine.
    - I_x(a, b), the distribution function of Beta(a, b), is a continued fraction times x^a (1 - x)^b / (a B(a, b)),
      taken on the side of x = (a + 1) / (a + b + 2) where the fraction converges. [Numerical Recipes, section 6.4]
    - This factor is a binomial probability. It is computed from the largest such probability by the deviance, because
      differences of log gamma would lose four digits at 10,000 answers. [Loader 2000, Fast and Accurate Computation of
      Binomial Probabilities]
"""

from __future__ import annotations

from math import comb, lgamma, log, pi, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEAST = 20
"""How many values each of two sides needs for an interval of their difference to be valid."""
_PRECISION = 2.0**-52
_NEAR = 1e-10
"""A relative Newton step after which the next one would not change any digit."""
_MOST_STEPS = 100
"""No quantile needs more, unless its last digits oscillate."""


def sign_test(won: int, changed: int) -> float:
    """Return P(X >= won) for X ~ Binomial(changed, 1/2). [Algorithm 1, line 6]"""
    found, ways = 0, comb(changed, won)
    for i in range(won, changed + 1):
        found, ways = found + ways, ways * (changed - i) // (i + 1)
    return found / (1 << changed)


def fisher_exact(right: int, wrong: int, other_right: int, other_wrong: int, *, is_one_sided: bool = False) -> float:
    """Return p of Fisher's exact test that two shares of right answers are equal: of the tables with these margins that
    are no likelier or, if `is_one_sided`, of those with as many right on the first side or more."""
    asked, all_right, total = right + wrong, right + other_right, right + wrong + other_right + other_wrong
    tables = range(max(0, asked + all_right - total), min(asked, all_right) + 1)
    ways = {k: comb(all_right, k) * comb(total - all_right, asked - k) for k in tables}
    taken = (n for k, n in ways.items() if (k >= right if is_one_sided else n <= ways[right]))
    return sum(taken) / sum(ways.values())


def halved(right: int, asked: int, other_right: int, other_asked: int) -> float:
    """Return p of the one-sided exact test that one share of right answers is no less than another; 1 if the first
    share is not below half of the second.
    """
    if 2 * right * other_asked >= other_right * asked:
        return 1.0
    return fisher_exact(asked - right, right, other_asked - other_right, other_right, is_one_sided=True)


def wilson(right: float, asked: int, *, level: float) -> tuple[float, float]:
    """Return the score interval of a share, both ends in [0, 1]; `asked` is 1 or more. [Wilson 1927]"""
    z, share = NormalDist().inv_cdf((1 + level) / 2), right / asked
    middle, half = share + z * z / (2 * asked), z * sqrt(share * (1 - share) / asked + z * z / (4 * asked * asked))
    low, high = (middle - half) / (1 + z * z / asked), (middle + half) / (1 + z * z / asked)
    return (0.0 if right == 0 else low), (1.0 if right == asked else high)


def t_quantile(p: float, freedom: float) -> float:
    """Return the quantile of Student's t for p in [1/2, 1)."""
    # t^2 / (freedom + t^2) is Beta(1/2, freedom / 2). Of it and its complement the smaller one keeps its digits.
    share = float(beta_quantile(0.5, freedom / 2, 2 * p - 1))
    if share < 0.5:
        return sqrt(freedom * share / (1 - share))
    rest = float(beta_quantile(freedom / 2, 0.5, 2 * (1 - p)))
    return sqrt(freedom * (1 - rest) / rest)


def t_tail(t: float, freedom: float) -> float:
    """Return P(T > t) for t >= 0."""
    if t < 1:  # where the other share would be 1 but for its last digits
        return (1 - float(beta_cdf(0.5, freedom / 2, t * t / (freedom + t * t)))) / 2
    return float(beta_cdf(freedom / 2, 0.5, freedom / (freedom + t * t))) / 2


def beta_cdf(a: float, b: float, x: Floats | float) -> Floats:
    """Return I_x(a, b) for each x in [0, 1]; a and b are positive."""
    x = np.asarray(x, dtype=np.float64)
    is_low = x <= (a + 1) / (a + b + 2)
    if not x.ndim:
        return _lower(a, b, x) if is_low else 1 - _lower(b, a, 1 - x)
    return np.where(is_low, _lower(a, b, np.where(is_low, x, 0.0)), 1 - _lower(b, a, np.where(is_low, 0.0, 1 - x)))


def beta_quantile(a: float, b: float, p: Floats | float) -> Floats:
    """Return the x with I_x(a, b) = p for each p in [0, 1]: Newton's method, bisecting where a step leaves the
    bracket."""
    p = np.asarray(p, dtype=np.float64)
    low, high, x = np.zeros_like(p), np.ones_like(p), np.full_like(p, a / (a + b))
    for _ in range(_MOST_STEPS):
        over = beta_cdf(a, b, x) - p
        low, high = np.where(over <= 0, x, low), np.where(over >= 0, x, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = x - over * x * (1 - x) / (_factor(a, b, x) * a)
        nearer = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        moved, x = np.abs(nearer - x), nearer
        if np.all(moved <= np.maximum(_NEAR * np.minimum(x, 1 - x), _PRECISION * x)):
            break
    return np.where((p > 0) & (p < 1), x, p)


def _lower(a: float, b: float, x: Floats) -> Floats:
    """Return I_x(a, b) for x at most (a + 1) / (a + b + 2)."""
    # A single x is a plain number here: that takes a twentieth of the time of an array of one, with the same digits.
    at: Any = x if x.ndim else float(x)
    fraction: Any = 1.0
    # From its far end; at any x on this side so many steps leave nothing that a float can hold.
    for m in range(80 + int(6 * sqrt(min(a, b))), -1, -1):
        fraction = 1 - at * ((a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1))) / fraction
        if m:
            fraction = 1 + at * (m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m))) / fraction
    found: Floats = _factor(a, b, x) / fraction
    return found


def _factor(a: float, b: float, x: Floats) -> Floats:
    """Return x^a (1 - x)^b / (a B(a, b)), which is b / (a + b) times the probability of a hits in a + b draws at chance
    x."""
    n = a + b
    with np.errstate(divide="ignore"):
        unlikely = _deviance(a, n * x) + _deviance(b, n * (1 - x))
    height = _stirling(n) - _stirling(a) - _stirling(b)
    return np.exp(height - unlikely) * (b / n * sqrt(n / (2 * pi * a * b)))


def _deviance(k: float, mean: Floats) -> Floats:
    """Return k log(k / mean) + mean - k without the cancellation that a direct difference has for a mean near k."""
    off = (mean - k) / k
    return k * np.where(off > -0.5, off - np.log1p(off), log(k) - np.log(mean) + off)


def _stirling(z: float) -> float:
    """Return log Gamma(z + 1) minus Stirling's formula."""
    if z < 16:
        return lgamma(z + 1) - (z + 0.5) * log(z) + z - log(2 * pi) / 2
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / z**2) / z**2) / z**2) / z**2) / z
