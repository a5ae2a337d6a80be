"""Intervals and p values are those of scipy, to 1e-12."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from mage_es.engine.rules.distributions import (
    beta_cdf,
    beta_quantile,
    fisher_exact,
    sign_test,
    t_quantile,
    t_tail,
    wilson,
)

CLOSE = 1e-12
parameters = st.floats(min_value=0.5, max_value=20_000)
shares = st.floats(min_value=1e-6, max_value=1 - 1e-6)
counts = st.integers(min_value=0, max_value=60)


@given(parameters, parameters, st.lists(shares, min_size=1, max_size=4))
def test_the_distribution_function_of_a_beta_is_that_of_scipy(a: float, b: float, at: list[float]) -> None:
    # Where the mass is, too, of which a share drawn from [0, 1] seldom is.
    points = np.array([0.0, 1.0, *at, *special.betaincinv(a, b, at)])
    assert beta_cdf(a, b, points) == pytest.approx(special.betainc(a, b, points), abs=CLOSE)


@pytest.mark.slow
@given(parameters, parameters, st.lists(shares, min_size=1, max_size=4))
def test_the_quantiles_of_a_beta_are_those_of_scipy(a: float, b: float, p: list[float]) -> None:
    assert beta_quantile(a, b, np.array(p)) == pytest.approx(special.betaincinv(a, b, p), abs=CLOSE)


def test_a_thousand_answers_are_as_exact_as_ten() -> None:
    for n in (10, 1_000, 100_000):
        assert beta_quantile(n, n + 1, 0.025) == pytest.approx(special.betaincinv(n, n + 1, 0.025), abs=CLOSE)


@given(st.floats(min_value=0.6, max_value=0.9999), st.floats(min_value=1, max_value=1_000))
def test_the_quantiles_of_t_are_those_of_scipy(p: float, freedom: float) -> None:
    assert t_quantile(p, freedom) == pytest.approx(float(stats.t.ppf(p, freedom)), rel=CLOSE)


# Nearer to 0 scipy itself loses digits.
@given(st.floats(min_value=0.01, max_value=50), st.floats(min_value=1, max_value=1_000))
def test_the_tail_of_t_is_that_of_scipy(t: float, freedom: float) -> None:
    assert t_tail(t, freedom) == pytest.approx(float(stats.t.sf(t, freedom)), abs=CLOSE)


@given(counts, st.integers(min_value=1, max_value=60))
def test_wilsons_interval_is_that_of_scipy(wrong: int, asked: int) -> None:
    right = max(0, asked - wrong)
    known = stats.binomtest(right, asked).proportion_ci(0.95, method="wilson")
    assert wilson(right, asked, level=0.95) == pytest.approx((known.low, known.high), abs=CLOSE)


@given(counts, counts, counts, counts, st.booleans())
def test_fishers_test_is_that_of_scipy(a: int, b: int, c: int, d: int, is_one_sided: bool) -> None:
    known = stats.fisher_exact([[a, b], [c, d]], alternative="greater" if is_one_sided else "two-sided")
    assert fisher_exact(a, b, c, d, is_one_sided=is_one_sided) == pytest.approx(float(known.pvalue), abs=CLOSE)


def test_the_sign_test_is_exact() -> None:
    assert sign_test(5, 5) == 1 / 32
    assert sign_test(0, 0) == 1.0
    assert sign_test(3, 4) == 5 / 16
    assert sign_test(4_100, 8_000) == pytest.approx(float(stats.binom.sf(4_099, 8_000, 0.5)), abs=CLOSE)
