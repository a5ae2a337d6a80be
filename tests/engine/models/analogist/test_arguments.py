"""Parameters get the numbers that their meanings describe."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.models.analogist.arguments import fill_in
from mage_es.engine.models.analogist.prompt_reading import Tool
from mage_es.engine.models.arithmetic.problems import read_problem

QUESTION = "Each crate holds 12 lemons, and Omar fills 3 crates. After selling 9 lemons, how many does he have left?"


def test_numbers_go_where_they_are_described() -> None:
    tool = Tool(name="left", parameters=(("sold", "near a word of loss"), ("size", "a rate"), ("crates", "a number")))
    assert json.loads(fill_in(tool, read_problem(QUESTION))) == {"sold": 9, "size": 12, "crates": 3}


def test_without_a_description_numbers_are_taken_in_reading_order() -> None:
    tool = Tool(name="left", parameters=(("a", "the first"), ("b", ""), ("c", "whatever")))
    assert json.loads(fill_in(tool, read_problem(QUESTION))) == {"a": 12, "b": 3, "c": 9}


def test_parameters_without_a_number_are_left_out() -> None:
    tool = Tool(name="left", parameters=tuple((name, "a number") for name in "abcde"))
    assert json.loads(fill_in(tool, read_problem(QUESTION))).keys() == {"a", "b", "c"}
    assert fill_in(tool, read_problem("Who is it?")) == "{}"
    assert fill_in(Tool(name="none", parameters=()), read_problem(QUESTION)) == "{}"


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=60)), max_size=16), st.text(max_size=200))
def test_any_tool_gets_a_json_object(parameters: list[tuple[str, str]], question: str) -> None:
    tool = Tool(name="any", parameters=tuple(parameters))
    assert isinstance(json.loads(fill_in(tool, read_problem(question))), dict)
