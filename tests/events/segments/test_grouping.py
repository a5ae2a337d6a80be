"""Groups of rows are what grouping Python values gives, whatever the columns and however they are stored."""

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.facts.shapes import Shape
from mage_es.events.segments.columns import Column, Groups

TEXTS = st.sampled_from(["", "a", "b", "two words", "ä"])
ROWS = st.lists(st.tuples(TEXTS, st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 2), st.booleans()), min_size=1)


def columns_of(rows: list[tuple[str, int, bool]], *, is_encoded: bool) -> list[Column]:
    texts, numbers, truths = zip(*rows, strict=True)
    array = pa.array(texts, pa.string())
    return [
        Column(array.dictionary_encode() if is_encoded else array, Shape("str")),
        Column(pa.array(numbers, pa.int64()), Shape("int")),
        Column(pa.array(truths, pa.bool_()), Shape("bool")),
    ]


@given(ROWS, st.booleans())
def test_groups_are_those_of_the_values_in_order_of_their_first_rows(
    rows: list[tuple[str, int, bool]], is_encoded: bool
) -> None:
    groups = Groups(columns_of(rows, is_encoded=is_encoded))

    assert groups.keys == list(dict.fromkeys(rows))
    assert [groups.keys[number] for number in groups.of] == rows
    assert groups.counts() == [Counter(rows)[key] for key in groups.keys]
    assert groups.last.tolist() == [max(i for i, row in enumerate(rows) if row == key) for key in groups.keys]


@given(ROWS)
def test_sums_are_exact_however_large_the_numbers(rows: list[tuple[str, int, bool]]) -> None:
    texts, numbers, truths = columns_of(rows, is_encoded=True)
    groups = Groups([texts])

    assert groups.sums(numbers) == [sum(n for text, n, _ in rows if (text,) == key) for key in groups.keys]
    assert groups.sums(truths) == [sum(t for text, _, t in rows if (text,) == key) for key in groups.keys]


def test_words_of_a_dictionary_that_no_row_has_make_no_group() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int32()), pa.array(["a", "unused", "b"]))

    assert Groups([Column(array, Shape("str"))]).keys == [("b",), ("a",)]


def test_many_columns_of_many_values_are_told_apart() -> None:
    half = 1 << 15
    halves = Column(pa.array([0] * half + [1] * half, pa.int64()), Shape("int"))
    others = [Column(pa.array([*range(half)] * 2, pa.int64()), Shape("int")) for _ in range(5)]

    assert Groups([halves, *others]).last.tolist() == list(range(2 * half))
