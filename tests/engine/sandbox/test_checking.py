"""A tool that fails its own examples is never used."""

import pytest

from mage_es.engine.sandbox.checking import check_tool, is_same
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.events.vocabulary import ToolExample

TOTAL = "def run(count, price):\n    return count * price"
RIGHT = ToolExample(arguments='{"count": 3, "price": 2.5}', result="7.50")
WRONG = ToolExample(arguments='{"count": 3, "price": 2}', result="7")


def test_a_tool_that_gets_its_examples_right_has_no_problem(sandbox: Sandbox) -> None:
    assert check_tool(sandbox, TOTAL, [RIGHT, RIGHT]) == ""


def test_the_first_example_that_fails_is_named_with_both_results(sandbox: Sandbox) -> None:
    assert check_tool(sandbox, TOTAL, [RIGHT, WRONG]) == "example 2: '6' instead of '7'"


def test_a_tool_that_breaks_on_an_example_is_refused_with_the_reason(sandbox: Sandbox) -> None:
    assert "call_me" in check_tool(sandbox, "def run(count, price):\n    return call_me()", [RIGHT])


def test_a_tool_without_examples_is_refused(sandbox: Sandbox) -> None:
    assert check_tool(sandbox, TOTAL, []) == "it has no examples"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("7.5", " 7.50 ", True), ("1e3", "1000", True), ("seven", "seven", True), ("7", "7.1", False), ("a", "7", False)],
)
def test_results_are_compared_as_numbers_where_they_are_numbers(one: str, other: str, same: bool) -> None:
    assert is_same(one, other) is same
