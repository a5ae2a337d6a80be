"""Field values as Arrow arrays and back."""

import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.errors import LogDamaged
from mage_es.events.facts.shapes import Shape, shapes_of
from mage_es.events.segments import columns
from mage_es.events.vocabulary import AnswerJudged, ModelCalled, QuestionPlanned, Target, TargetsSelected
from tests.events.samples import FACTS, bits, events


@pytest.mark.slow
@given(st.sampled_from(FACTS).flatmap(lambda cls: st.lists(events(cls), max_size=4)))
def test_every_field_of_every_type_comes_back_bit_for_bit(values: list[object]) -> None:
    for name, shape in shapes_of(type(values[0])).items() if values else ():
        column = [getattr(value, name) for value in values]
        if shape.kind == "vector":
            back = columns.vectors_to_python(columns.vectors_to_arrow(column))
        else:
            back = columns.to_python(columns.to_arrow(column, shape), shape)
        assert bits(back) == bits(column)
        assert [type(value) for value in back] == [type(value) for value in column]


@given(st.lists(st.lists(st.lists(st.integers(0, 9), max_size=3).map(tuple), max_size=3).map(tuple), min_size=3))
def test_a_slice_of_nested_lists_is_the_slice_of_the_values(values: list[tuple[tuple[int, ...], ...]]) -> None:
    shape = Shape("list", item=Shape("list", item=Shape("int")))
    assert columns.to_python(columns.to_arrow(values, shape)[1:-1], shape) == values[1:-1]


def test_a_slice_of_parts_is_the_slice_of_the_values() -> None:
    shape = shapes_of(TargetsSelected)["targets"]
    targets = [Target(task_type=f"t{n}", failures=n, attempts=2, last_selected=0) for n in range(6)]
    values = [tuple(targets[:2]), (), tuple(targets[2:5]), tuple(targets[5:])]
    assert columns.to_python(columns.to_arrow(values, shape).slice(1, 2), shape) == values[1:3]


def test_a_missing_value_is_damage() -> None:
    with pytest.raises(LogDamaged, match="1 of 2 stored values"):
        columns.to_python(pa.array(["a", None]), Shape("str"))


def test_vectors_are_numbers_to_others() -> None:
    array = columns.vectors_to_arrow([struct.pack("<2f", 1.5, -2.0), b""])
    assert array.to_pylist() == [[1.5, -2.0], []]


def test_a_maker_fills_in_none_for_what_was_not_read() -> None:
    event = columns.event_maker(AnswerJudged, ("score_micro", "skill"))(5, "algebra")
    assert (event.score_micro, event.skill, event.answer) == (5, "algebra", None)


def test_a_field_that_did_not_exist_yet_has_its_default() -> None:
    assert columns.default_of(ModelCalled, "cached_tokens") == 0
    assert isinstance(columns.event_maker(QuestionPlanned, ())(), QuestionPlanned)
