"""The ratchet rises quickly, falls slowly, and keeps the bounds that are true of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from mage_es.engine.rules.mastery import lower_bound, ratchet

unit = st.floats(0, 1)


@pytest.mark.paper("Eq. 2")
def test_evidence_above_the_mastery_moves_it_up_by_alpha() -> None:
    assert ratchet(0.5, 1.0, increase=0.6, decay=0.1) == approx(0.8)


@pytest.mark.paper("Eq. 2")
def test_evidence_below_the_mastery_moves_it_down_by_gamma() -> None:
    assert ratchet(0.5, 0.0, increase=0.6, decay=0.1) == approx(0.45)


@given(unit, unit)
def test_one_step_stays_within_the_bounds_of_theorem_3(mastery: float, evidence: float) -> None:
    after = ratchet(mastery, evidence, increase=0.6, decay=0.1)
    assert 0.9 * mastery - 1e-12 <= after <= mastery + 0.6 * (1 - mastery) + 1e-12


@pytest.mark.paper("Theorem 3")
@given(st.lists(unit, min_size=1, max_size=20))
def test_any_later_mastery_is_at_least_the_decayed_peak(evidence: list[float]) -> None:
    history = [0.0]
    for value in evidence:
        history.append(ratchet(history[-1], value, increase=0.6, decay=0.1))
    for k, mastery in enumerate(history):
        assert all(mastery >= 0.9 ** (k - earlier) * history[earlier] - 1e-12 for earlier in range(k + 1))


@pytest.mark.paper("Theorem 3")
def test_the_window_bound_as_printed_in_the_paper_is_false() -> None:
    """Printed: m_k >= (1 - gamma)^j max over k' <= k - j; with j = 1 the peak two steps back breaks it."""
    once = ratchet(1.0, 0.0, increase=0.6, decay=0.1)
    twice = ratchet(once, 0.0, increase=0.6, decay=0.1)
    assert twice < 0.9 * 1.0


def test_the_lower_bound_grows_with_evidence_of_the_same_rate() -> None:
    assert lower_bound(0, 0) == approx(0.05)
    assert lower_bound(8, 2) < lower_bound(80, 20) < 0.8
