"""Which memories are proved harmful, after the correction for all that were looked at."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.upkeep.pruning import LEVEL, Suspect, proved_harmful

trials = st.lists(st.tuples(st.floats(-100, 100), st.floats(0, 1)), max_size=12).map(
    lambda drawn: [Suspect(str(n), "re-ask", points, p) for n, (points, p) in enumerate(drawn)]
)


def harm(name: str, p: float, points: float = -20.0) -> Suspect:
    return Suspect(name, "re-ask", points, p)


def test_the_second_smallest_p_counts_times_the_memories_that_are_left() -> None:
    found = proved_harmful([harm("a", 0.01), harm("b", 0.02), harm("c", 0.9)])
    assert [(each.trial.memory_id, round(each.corrected, 9)) for each in found] == [("a", 0.03), ("b", 0.04)]
    assert not proved_harmful([harm("a", 0.03), harm("b", 0.04)])


def test_what_helps_is_never_taken_out_and_what_proves_nothing_counts_as_looked_at() -> None:
    assert proved_harmful([harm("a", 0.03)]) and not proved_harmful([harm("a", 0.03), harm("b", 0.9, points=30.0)])
    assert not proved_harmful([harm("b", 1e-9, points=30.0)])


@given(trials, st.floats(0, 1))
def test_each_more_that_is_looked_at_proves_no_more_of_the_others(looked_at: list[Suspect], p: float) -> None:
    before = {each.trial.memory_id for each in proved_harmful(looked_at)}
    after = {each.trial.memory_id for each in proved_harmful([*looked_at, Suspect("more", "coin", 10.0, p)])}
    assert after <= before


@given(trials)
def test_a_corrected_p_is_never_below_its_own_and_the_order_does_not_count(looked_at: list[Suspect]) -> None:
    found = proved_harmful(looked_at)
    assert all(each.trial.p <= each.corrected <= LEVEL and each.trial.points < 0 for each in found)
    assert proved_harmful(reversed(looked_at)) == found
