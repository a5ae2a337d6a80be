"""Which memories are proved harmful, after the correction for all that were looked at."""

from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.upkeep.pruning import LEVEL, proved_harmful

LookedAt = dict[str, tuple[float, float]]
looked = st.lists(st.tuples(st.floats(-100, 100), st.floats(0, 1)), max_size=12).map(
    lambda drawn: {str(n): numbers for n, numbers in enumerate(drawn)}
)


def harm(p: float) -> tuple[float, float]:
    return -20.0, p


def test_the_second_smallest_p_counts_times_the_memories_that_are_left() -> None:
    found = proved_harmful({"a": harm(0.01), "b": harm(0.02), "c": harm(0.9)})
    assert [(name, round(corrected, 9)) for name, corrected in found.items()] == [("a", 0.03), ("b", 0.04)]
    assert not proved_harmful({"a": harm(0.03), "b": harm(0.04)})


def test_what_helps_is_never_taken_out_and_what_proves_nothing_counts_as_looked_at() -> None:
    assert proved_harmful({"a": harm(0.03)}) and not proved_harmful({"a": harm(0.03), "b": (30.0, 0.9)})
    assert not proved_harmful({"b": (30.0, 1e-9)})


@given(looked, st.floats(0, 1))
def test_each_more_that_is_looked_at_proves_no_more_of_the_others(looked_at: LookedAt, p: float) -> None:
    assert proved_harmful({**looked_at, "more": (10.0, p)}).keys() <= proved_harmful(looked_at).keys()


@given(looked)
def test_a_corrected_p_is_never_below_its_own_and_the_order_does_not_count(looked_at: LookedAt) -> None:
    found = proved_harmful(looked_at)
    assert all(looked_at[name][1] <= corrected <= LEVEL and looked_at[name][0] < 0 for name, corrected in found.items())
    assert list(proved_harmful(dict(reversed(looked_at.items()))).items()) == list(found.items())
