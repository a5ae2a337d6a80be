from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from mage_es.engine.players.arithmetic.assigning import assigned

tables = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: st.lists(
        # Few values, so that there are many equals.
        st.lists(st.sampled_from((0.0, 0.25, 0.5, 1.0)), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@given(tables)
def test_an_assignment_is_that_of_scipy_among_equals_too(worth: list[list[float]]) -> None:
    assert assigned(worth) == list(zip(*map(list, linear_sum_assignment(worth, maximize=True)), strict=True))


def test_nothing_is_assigned_to_nothing() -> None:
    assert assigned([]) == []
