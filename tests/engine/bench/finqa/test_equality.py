"""When two programs are the same computation, and when they only come to the same number."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.bench.finqa.equality import is_same_program
from mage_es.engine.bench.finqa.program import tokens_of


def same(gold: str, predicted: str, *, strict: bool = False) -> bool:
    return is_same_program(tokens_of(gold), tokens_of(predicted), strict=strict)


@pytest.mark.paper("section 4, FinQA, programs")
@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        ("add(1, 2)", "add(1, 2)"),
        ("add(1, 2)", "add(2, 1)"),
        ("multiply(3, 4), divide(#0, 5)", "divide(4, 5), multiply(3, #0)"),
        ("divide(8, 4), divide(#0, 2)", "multiply(2, 4), divide(8, #0)"),
        ("subtract(9, 4), divide(#0, 4)", "divide(9, 4), divide(4, 4), subtract(#0, #1)"),
        ("add(1, 2)", "multiply(1, 2), add(2, 1)"),
        ("table_max(sales, none), divide(#0, 3)", "table_max(sales, none), divide(#0, 3)"),
        ("add(1, 2), table_max(sales, none), divide(#0, #1)", "add(2, 1), table_max(sales, none), divide(#0, #1)"),
        ("greater(3, 4)", "greater(3, 4)"),
        ("exp(2, 3), exp(2, 5), multiply(#0, #1)", "add(3, 5), exp(2, #0)"),
    ],
)
def test_programs_are_the_same_if_their_last_steps_simplify_to_the_same(gold: str, predicted: str) -> None:
    assert same(gold, predicted)


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        ("subtract(1, 2)", "subtract(2, 1)"),
        ("divide(100, 4)", "divide(100.0, 4)"),
        ("divide(6%, 4)", "divide(0.06, 4)"),
        ("multiply(2, 2)", "add(2, 2)"),
        ("table_max(sales, none)", "table_min(sales, none)"),
        ("table_max(sales, none)", "table_max(costs, none)"),
        ("divide(9, 4), subtract(#0, const_1)", "subtract(9, 4), divide(#0, 4)"),
        ("greater(3, 4)", "greater(4, 3)"),
        ("add(1, 2)", ""),
        ("add(1, 2)", "add(1, 2), add(#1, 1)"),
        ("add(1, 2)", "add(#0, 2)"),
        ("add(1, 2)", "add(#x, 2)"),
        ("add(1, 2)", "plus(1, 2)"),
        ("greater(1, 2), add(#0, 1)", "greater(2, 1), add(#0, 1)"),
        ("divide(1, 2)", "subtract(1, 1), divide(1, #0)"),
    ],
)
def test_programs_differ_if_an_operand_is_new_or_the_last_steps_differ(gold: str, predicted: str) -> None:
    assert not same(gold, predicted)


@pytest.mark.paper("section 4, FinQA, programs")
def test_upstream_knows_a_table_step_again_only_where_it_stands_first_or_later_in_both() -> None:
    gold, predicted = "table_max(sales, none), divide(#0, 3)", "divide(3, 3), table_max(sales, none), divide(#1, 3)"
    assert same(gold, predicted)
    assert not same(gold, predicted, strict=True)
    assert same(gold, gold, strict=True)


def test_a_program_that_doubles_itself_out_of_all_bounds_is_unequal_at_once() -> None:
    doubling = "add(1, 2), " + ", ".join(f"multiply(#{step}, #{step})" for step in range(200))
    assert not same("add(1, 2)", doubling)


def test_a_different_program_that_is_slow_to_simplify_is_told_apart_without_simplifying() -> None:
    gold = "add(1, 2), subtract(3, 4), divide(#0, #1), add(#2, 5)"
    chain = [f"divide({k % 5 + 1}, #{2 * k + 2}), add(#{2 * k + 3}, {(k + 1) % 5 + 1})" for k in range(20)]
    assert not same(gold, ", ".join(["add(1, 2), subtract(3, 4), divide(#0, #1)", *chain]))


@pytest.mark.parametrize("operation", ["exp", "greater"])
def test_a_large_program_that_no_probe_can_value_is_unequal_without_simplifying(operation: str) -> None:
    gold = "add(1, 2), divide(1, 2), exp(#0, #1)"
    tower = ", ".join(f"{operation}(#{k}, #1), exp(#{k + 1}, #{k})" for k in range(2, 8, 2))
    assert not same(gold, f"{gold}, {tower}")


def test_a_large_program_without_powers_is_the_same_where_its_values_are() -> None:
    gold = "add(1, 2), subtract(3, 4), divide(#0, #1)"
    detours = [f"multiply(#{2 * k + 2}, 1), divide(#{2 * k + 3}, 1)" for k in range(20)]
    assert same(gold, ", ".join([gold, *detours]))
    assert not same(gold, ", ".join([gold, *detours, "add(#42, 1)"]))


@given(st.lists(st.sampled_from(["add(1, 2)", "multiply(#0, 2)", "exp(#1, #0)", "divide(#0, #1)", "subtract(#0, #0)"])))
@settings(max_examples=60, deadline=None)
def test_every_program_is_the_same_as_itself_or_cannot_be_read(steps: list[str]) -> None:
    program = ", ".join(steps)
    assert same(program, program) or not steps or "#" in program


def test_reading_the_benchmark_does_not_import_arithmetic_of_many_digits() -> None:
    code = "import sys, mage_es.engine.bench.finqa.benchmark; print('mpmath' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_upstream_compares_arguments_that_are_cut_at_its_own_mark_but_table_steps_as_a_whole() -> None:
    assert same("add(1, 2)", "add(1|2, 5)", strict=True)
    assert not same("add(1, 2)", "add(1|2, 5)")
    assert not same("table_max(sales, none)", "table_max(sales|none, 5)", strict=True)
