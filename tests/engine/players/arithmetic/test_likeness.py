import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.arithmetic.quantities import Quantity, likeness, polarity, similarity


def quantities(text: str) -> list[Quantity]:
    return read_problem(text).quantities


def test_giving_and_getting_have_opposite_polarity() -> None:
    lost, found = quantities("She loses 4 pens."), quantities("She finds 4 pens.")
    assert polarity(lost[0]) < 0 < polarity(found[0])


def test_quantities_that_play_one_part_are_more_alike_than_others() -> None:
    rate, count = quantities("Each box holds 6 jars. There are 4 boxes.")
    other_count, other_rate = quantities("She fills 9 crates with 7 figs in every crate.")
    assert likeness(rate, other_rate) > likeness(rate, other_count)
    assert likeness(count, other_count) > likeness(count, other_rate)


def test_numbers_of_another_kind_are_less_alike_whatever_stands_around_them() -> None:
    (percent,) = quantities("She gives 20% away.")
    (count,) = quantities("She gives 20 away.")
    other = quantities("She gives 30% away.")[0]
    assert likeness(other, percent) > 0.9
    assert likeness(other, count) < 0.2


def test_similarity_is_the_weighted_share_of_common_features() -> None:
    assert similarity({"a": 1.0, "b": 2.0}, {"b": 2.0, "c": 1.0}) == 0.5
    assert similarity({}, {"a": 1.0}) == 0.0


@given(st.text(alphabet="0123456789 .,?$%/-\nabcdehours each", max_size=200))
def test_any_text_is_read_and_a_quantity_is_most_like_itself(text: str) -> None:
    for quantity in quantities(text):
        assert likeness(quantity, quantity) == pytest.approx(1.0)
