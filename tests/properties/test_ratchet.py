"""Theorem 3, for any alpha and gamma: each step keeps both bounds, and any later mastery the decayed peak.

The printed form lets the bound shrink by j steps while the peak may be further back; it is false for every gamma
between 0 and 1. A rollback is no step: across it not even the true form holds.
"""

from hypothesis import assume, given
from hypothesis import strategies as st

from mage_es.engine.rules.mastery import ratchet
from mage_es.events.vocabulary import MasteryUpdated, SkillCreated, SlotsRolledBack, SnapshotTaken
from mage_es.projections.slots import Slots

unit = st.floats(0, 1)
ROUNDING = 1e-9


def walked(evidence: list[float], *, start: float, increase: float, decay: float) -> list[float]:
    walk = [start]
    for value in evidence:
        walk.append(ratchet(walk[-1], value, increase=increase, decay=decay))
    return walk


@given(unit, unit, unit, unit)
def test_a_step_stays_within_its_bounds_and_between_mastery_and_evidence(
    mastery: float, evidence: float, increase: float, decay: float
) -> None:
    after = ratchet(mastery, evidence, increase=increase, decay=decay)
    assert (1 - decay) * mastery - ROUNDING <= after <= mastery + increase * (1 - mastery) + ROUNDING
    assert min(mastery, evidence) - ROUNDING <= after <= max(mastery, evidence) + ROUNDING


@given(st.lists(unit, min_size=1, max_size=20), unit, unit, unit)
def test_any_later_mastery_is_at_least_the_decayed_peak(
    evidence: list[float], start: float, increase: float, decay: float
) -> None:
    walk = walked(evidence, start=start, increase=increase, decay=decay)
    for k, mastery in enumerate(walk):
        peak = max((1 - decay) ** (k - earlier) * walk[earlier] for earlier in range(k + 1))
        assert mastery >= peak - ROUNDING


@given(st.integers(1, 30), unit)
def test_the_bound_is_reached_by_a_peak_without_any_evidence_for_it(steps: int, decay: float) -> None:
    walk = walked([0.0] * steps, start=1.0, increase=0.6, decay=decay)
    assert abs(walk[-1] - (1 - decay) ** steps) < ROUNDING


@given(st.floats(0.01, 0.99), st.integers(1, 5))
def test_the_printed_form_is_false_for_every_decay(decay: float, window: int) -> None:
    """Printed: m_k >= (1 - gamma)^j max over k' <= k - j. With gamma 0.1 and j = 1: 0.81 < 0.9."""
    walk = walked([0.0] * (window + 1), start=1.0, increase=0.6, decay=decay)
    k = window + 1
    assume((1 - decay) ** window - (1 - decay) ** k > ROUNDING)
    assert walk[k] < (1 - decay) ** window * max(walk[: k - window + 1])


def test_the_counterexample_in_numbers() -> None:
    walk = walked([0.0, 0.0], start=1.0, increase=0.6, decay=0.1)
    assert round(walk[2], 12) == 0.81 < 0.9 * walk[0]


def test_a_rollback_is_no_step_and_may_fall_below_any_decayed_peak() -> None:
    slots = Slots()
    slots.apply(SkillCreated(skill="s", mastery=0.2, prompt_template="", strategy=""))
    slots.apply(SnapshotTaken(iteration=0))
    slots.apply(MasteryUpdated(iteration=1, skill="s", before=0.2, after=0.68, evidence=1, successes=1, failures=0))
    slots.apply(SlotsRolledBack(iteration=1, to_iteration=0))
    assert slots.mastery("s") == 0.2 < 0.9 * 0.68
