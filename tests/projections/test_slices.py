"""Slices: contiguous, in order of birth, the vectors as they were given."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.projections.slices import Slice, VectorSlice, birth_of


def vector(number: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array([number, -number, 0.1], dtype="<f4")


@given(st.lists(st.tuples(st.sampled_from(["add", "remove"]), st.integers(0, 40)), max_size=80))
def test_whatever_comes_and_goes_the_columns_stay_parallel_and_ordered_by_birth(steps: list[tuple[str, int]]) -> None:
    vectors, expected = VectorSlice(), dict[int, None]()
    for what, number in steps:
        if what == "add" and number not in expected:
            vectors.add(
                f"m{number:02d}",
                vector(number).tobytes(),
                question_id=f"q{number}",
                kind="k",
                birth=(number // 3, 0, 0),
            )
            expected[number] = None
        elif what == "remove" and number in expected:
            vectors.remove(f"m{number:02d}")
            del expected[number]

    view = vectors.view()
    assert view.ids == [f"m{number:02d}" for number in sorted(expected)]
    assert view.question_ids == [f"q{number}" for number in sorted(expected)]
    assert view.births == [(number // 3, 0, 0) for number in sorted(expected)]
    assert len(view.kinds) == len(expected)
    for row, number in zip(view.vectors, sorted(expected), strict=True):
        assert row.tobytes() == vector(number).tobytes()


def test_a_view_is_one_contiguous_block_that_cannot_be_written() -> None:
    vectors = VectorSlice()
    for number in range(20):
        vectors.add(f"m{number}", vector(number).tobytes(), question_id="q", kind="", birth=(0, 0, number))

    matrix = vectors.view().vectors
    assert matrix.flags.c_contiguous and matrix.dtype == np.float32 and matrix.shape == (20, 3)
    with pytest.raises(ValueError, match="read-only"):
        matrix[0, 0] = 1.0


def test_what_was_computed_of_a_slice_is_gone_with_its_next_change() -> None:
    vectors = VectorSlice()
    for number in range(2):
        vectors.add(f"m{number}", vector(number).tobytes(), question_id="q", kind="", birth=(0, 0, number))
        assert vectors.view().computed == {}
        vectors.view().computed["sum"] = number
        assert vectors.view().computed == {"sum": number}
    vectors.remove("m0")
    assert vectors.view().computed == {}


def test_a_vector_of_another_dimension_is_refused() -> None:
    vectors = VectorSlice()
    vectors.add("a", vector(1).tobytes(), question_id="q", kind="", birth=(0, 0, 0))

    with pytest.raises(ValueError, match="has 20 bytes, others 12"):
        vectors.add("b", bytes(20), question_id="q", kind="", birth=(0, 0, 1))
    assert vectors.view().ids == ["a"]


def test_an_empty_slice_has_no_rows() -> None:
    assert len(Slice.empty().vectors) == len(Slice.empty().ids) == 0


def test_births_compare_as_the_run_goes() -> None:
    assert birth_of(-1, "open", 5) < birth_of(0, "update", 1) < birth_of(0, "evolve", 0) < birth_of(1, "update", 0)


def test_threads_that_look_first_at_once_all_find_every_vector() -> None:
    rows = np.arange(6_000, dtype="<f4").reshape(-1, 2)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(30):
            vectors = VectorSlice()
            for place, row in enumerate(rows):
                vectors.add(f"{place:04}", row.tobytes(), question_id="", kind="", birth=(0, 0, place))
            with ThreadPoolExecutor(8) as threads:
                found = list(threads.map(lambda _, vectors=vectors: vectors.view().vectors, range(8)))
            assert all(np.array_equal(each, rows) for each in found)
    finally:
        sys.setswitchinterval(interval)
