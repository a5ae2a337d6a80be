"""Parameters get the numbers that their meanings describe."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.players.analogist.arguments import DECLINED, fill_in
from mage_es.engine.players.arithmetic.problems import read_problem

QUESTION = "Each crate holds 12 lemons, and Omar fills 3 crates. After selling 9 lemons, how many does he have left?"


def test_numbers_go_where_they_are_described() -> None:
    parameters = (("sold", "near a word of loss"), ("size", "a rate"), ("crates", "a number"))
    assert json.loads(fill_in(parameters, read_problem(QUESTION))) == {"sold": 9, "size": 12, "crates": 3}


def test_without_a_description_numbers_are_taken_in_reading_order() -> None:
    parameters = (("a", "the first"), ("b", ""), ("c", "whatever"))
    assert json.loads(fill_in(parameters, read_problem(QUESTION))) == {"a": 12, "b": 3, "c": 9}


def test_a_tool_for_another_count_of_numbers_is_declined() -> None:
    for names in ("ab", "abcd", ""):
        parameters = tuple((name, "a number") for name in names)
        assert fill_in(parameters, read_problem(QUESTION)) == DECLINED
    assert fill_in((), read_problem("Who is it?")) == DECLINED


def test_a_tool_whose_meanings_do_not_describe_the_numbers_is_declined() -> None:
    parameters = tuple((name, "given as percent; near a word of share") for name in "abc")
    assert fill_in(parameters, read_problem(QUESTION)) == DECLINED


def test_numbers_beside_the_point_are_passed_over() -> None:
    problem = read_problem("Omar has a cousin who is 31. " + QUESTION)
    parameters = (("a", ""), ("b", ""), ("c", ""))
    assert json.loads(fill_in(parameters, problem)) == {"a": 12, "b": 3, "c": 9}


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=60)), max_size=16), st.text(max_size=200))
def test_any_tool_gets_a_json_object_or_is_declined(parameters: list[tuple[str, str]], question: str) -> None:
    filled = fill_in(parameters, read_problem(question))
    assert filled == DECLINED or isinstance(json.loads(filled), dict)
