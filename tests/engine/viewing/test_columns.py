"""Columns of long tables: each gives back what a list of the same values gives."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.viewing.columns import Borrowed, Codes, Made, Numbers, PackedTexts, RowsByNumber


def agrees(column: Sequence[Any], values: list[Any]) -> None:
    assert len(column) == len(values) and list(column) == values
    for cut in (slice(0, 0), slice(0, 2), slice(1, None), slice(-2, None), slice(2, 99)):
        assert column[cut] == values[cut]
    assert [column[-1 - row] for row in range(len(values))] == values[::-1]


@given(st.lists(st.none() | st.integers(-(1 << 63) + 1, (1 << 63) - 1)), st.integers(0, 9))
def test_numbers_are_the_integers_and_nones_that_were_added(values: list[int | None], some: int) -> None:
    column = Numbers()
    column.extend(values[:some])
    for value in values[some:]:
        column.append(value)
    agrees(column, values)
    if values:
        column[0] = None
        agrees(column, [None, *values[1:]])


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_the_least_number_of_an_array_means_none(kind: type[np.int32 | np.int64]) -> None:
    agrees(Numbers(np.array([3, np.iinfo(kind).min, -1], kind)), [3, None, -1])


@given(st.lists(st.sampled_from(["a", "", "b", None])), st.integers(0, 9))
def test_codes_are_the_values_that_were_added(values: list[str | None], some: int) -> None:
    column = Codes()
    column.extend(values[:some])
    for value in values[some:]:
        column.append(value)
    agrees(column, values)
    assert column.among("a", None, "never").tolist() == [value in ("a", None) for value in values]


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_texts_are_the_texts_that_were_added(values: list[str]) -> None:
    column = PackedTexts()
    column.extend(values)
    agrees(column, values)


def test_a_borrowed_text_is_that_of_the_other_column_until_it_has_its_own() -> None:
    others = ["x", "y", "z"]
    column = Borrowed(others, "memory/")
    column.extend([2, "skill/a", 0])
    agrees(column, ["memory/z", "skill/a", "memory/x"])
    column[0], others[0] = "tool/b", "new"
    agrees(column, ["tool/b", "skill/a", "memory/new"])


def test_what_is_made_when_it_is_asked_for_is_a_sequence_too() -> None:
    agrees(Made(4, lambda first, end: [*range(first, end)]), [0, 1, 2, 3])


def test_a_place_is_there_for_each_number_that_has_one() -> None:
    places = RowsByNumber()
    places[2], places[0] = 7, 5
    assert [places.get(key) for key in range(4)] == [5, None, 7, None]
