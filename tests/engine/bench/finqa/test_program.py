"""FinQA's programs: what a token is, what a step is, and every way in which an execution is invalid."""

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.bench.finqa.program import NOTHING, Executed, InvalidProgram, execute, steps_of, tokens_of

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[5] / "shared" / "data"))

TABLE = [
    ["", "2009", "2008"],
    ["revenue", "$ 1,200", "$ 800.5"],
    ["loss", "-3 ( 3 )", "10.5%"],
    ["gap", "7", "-"],
    ["bracketed", "( 120 )", "1"],
    ["hole", "", "1"],
    ["twice", "1", "2"],
    ["twice", "10", "20"],
    ["bare"],
]


def run(program: str) -> Executed:
    return execute(tokens_of(program), TABLE)


@pytest.mark.parametrize(
    ("program", "tokens"),
    [
        ("subtract(5829, 5735)", ["subtract(", "5829", "5735", ")", "EOF"]),
        ("add(1, 2), divide(#0, const_2)", ["add(", "1", "2", ")", "divide(", "#0", "const_2", ")", "EOF"]),
        ("add(1,200, 3)", ["add(", "1,200", "3", ")", "EOF"]),
        ("table_max(net sales, none)", ["table_max(", "net sales", "none", ")", "EOF"]),
        ("", ["EOF"]),
        ("yes", ["yes", "EOF"]),
        ("add((1, 2))", ["add(", "(", "1", "2", ")", ")", "EOF"]),
    ],
)
def test_a_program_is_cut_at_commas_with_a_space_and_around_brackets(program: str, tokens: list[str]) -> None:
    assert tokens_of(program) == tokens


@pytest.mark.parametrize(
    ("program", "result"),
    [
        ("add(1, 2)", 3.0),
        ("subtract(1, 2)", -1.0),
        ("multiply(1.5, 4)", 6.0),
        ("divide(1, 3)", 0.33333),
        ("exp(2, 10)", 1024.0),
        ("greater(2, 1)", "yes"),
        ("greater(2, 2)", "no"),
        ("subtract(5829, 5735), divide(#0, 5735)", 0.01639),
        ("divide(1,000, const_m1)", -1000.0),
        ("multiply(34.7%, const_100)", 34.7),
        ("table_max(revenue, none)", 1200.0),
        ("table_min(revenue, none)", 800.5),
        ("table_sum(revenue, none)", 2000.5),
        ("table_average(revenue, none)", 1000.25),
        ("table_min(loss, none)", -3.0),
        ("table_max(twice, none)", 20.0),
        ("table_sum(bare, none)", 0.0),
        ("table_max(revenue, none), table_min(revenue, none), subtract(#0, #1)", 399.5),
        ("greater(1, 2), greater(2, 1), greater(#1, #0)", "yes"),
        ("divide(0.000025, 10)", 0.0),
        ("divide(2.000015, 1)", 2.00001),
        ("", NOTHING),
        ("add(1, 2), add(#0", 3.0),
        ("add(1, 2", NOTHING),
        ("add(1_0, 1e2)", 110.0),
    ],
)
def test_a_program_comes_to(program: str, result: float | str) -> None:
    assert run(program) == Executed(result)


@pytest.mark.paper("section 4, FinQA, programs")
@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("sum(1, 2)", "'sum(', which is not an operation"),
        ("5829", "is not an operation"),
        ("add(1, 2, 3)", "not closed after two arguments"),
        ("add(1)", "closed before its second argument"),
        ("add(1, 2), 3", "is not an operation"),
        ("add(1, 2), add(3)", "closed before its second argument"),
        ("add((1, 2))", "not closed after two"),
        ("add($5, 2)", "'$5' is not a number"),
        ("add(, 2)", "closed before its second argument"),
        ("add(const_x, 2)", "'const_x' is not a number"),
        ("add(5x%, 2)", "'5x%' is not a number"),
        ("add(revenue, 2)", "'revenue' is not a number"),
        ("add(#0, 2)", "'#0' does not refer to an earlier step"),
        ("add(1, 2), add(#1, 2)", "'#1' does not refer to an earlier step"),
        ("add(1, 2), add(#-1, 2)", "'#-1' does not refer to an earlier step"),
        ("add(#x, 2)", "invalid literal"),
        ("divide(1, 0)", "division by zero"),
        ("exp(10, 1000)", "out of range"),
        ("exp(-8, 0.5)", "complex"),
        ("greater(2, 1), add(#0, 1)", "str"),
        ("greater(2, 1), greater(#0, 1)", "not supported between"),
        ("table_max(profit, none)", "the table has no row called 'profit'"),
        ("table_max(Revenue, none)", "the table has no row called 'Revenue'"),
        ("table_max(gap, none)", "'-' is not a number"),
        ("table_max(bracketed, none)", "'' is not a number"),
        ("table_max(hole, none)", "'' is not a number"),
        ("table_average(bare, none)", "division by zero"),
        ("table_max(bare, none)", "empty"),
        ("add(1, 2), table_max(#0, none)", "which is not a row"),
        ("table_max(net sales (loss), none)", "step 1 begins with 'none'"),
    ],
)
def test_a_program_is_invalid_because(program: str, problem: str) -> None:
    done = run(program)
    assert done.result == NOTHING
    assert problem in done.problem


def test_upstreams_row_operation_on_a_result_works_on_the_row_before_where_that_is_asked_for() -> None:
    tokens = tokens_of("table_max(revenue, none), table_min(#0, none)")
    assert execute(tokens, TABLE, strict=True) == Executed(800.5)
    assert "which is not a row" in execute(tokens, TABLE).problem


@pytest.mark.paper("section 4, FinQA, programs")
@pytest.mark.parametrize(
    ("tokens", "strictly", "usually"),
    [
        (["add(", "1|2", "5", ")"], 3.0, NOTHING),
        (["add(", "1", "2|5", ")"], 3.0, NOTHING),
        (["table_max(", "revenue|x", "none", ")"], 1200.0, NOTHING),
        (["table_max(", "revenue", "", ")"], NOTHING, 1200.0),
    ],
)
def test_upstream_cuts_arguments_at_its_own_mark_where_that_is_asked_for(
    tokens: list[str], strictly: object, usually: object
) -> None:
    assert execute([*tokens, "EOF"], TABLE, strict=True).result == strictly
    assert execute([*tokens, "EOF"], TABLE).result == usually


def test_upstream_takes_row_operations_on_a_table_with_an_empty_row_for_invalid_and_no_others() -> None:
    table = [*TABLE, []]
    assert execute(tokens_of("table_max(revenue, none)"), table, strict=True).problem == "a row of the table is empty"
    assert execute(tokens_of("table_max(revenue, none)"), table) == Executed(1200.0)
    assert execute(tokens_of("add(1, 2)"), table, strict=True) == Executed(3.0)


@pytest.mark.parametrize("opening", ["add", "add((", "(add("])
def test_an_operation_has_exactly_one_bracket(opening: str) -> None:
    done = execute([opening, "1", "2", ")", "EOF"], TABLE)
    assert done.result == NOTHING
    assert done.problem == "step 0 has a bracket too many or too few"


def test_the_last_token_is_taken_for_the_end_whatever_it_is() -> None:
    assert execute(["add(", "1", "2", ")"], TABLE) == Executed(NOTHING)
    assert execute([], TABLE) == Executed(NOTHING)


@given(st.lists(st.one_of(st.sampled_from(["add(", "exp(", "table_max(", ")", "#0", "9e99", "yes", "("]), st.text())))
@settings(max_examples=60, deadline=None)
def test_no_tokens_at_all_make_the_executor_raise(tokens: list[str]) -> None:
    done = execute([*tokens, "EOF"], TABLE)
    assert not done.problem or done.result == NOTHING


def test_a_step_is_an_operation_and_its_arguments_as_written() -> None:
    assert steps_of(tokens_of("divide( 1 , #0)")) == [("divide", "1", "#0")]
    with pytest.raises(InvalidProgram, match="step 1 begins with"):
        steps_of(tokens_of("add(1, 2), half(#0, 1)"))


@pytest.mark.paper("section 4, FinQA, programs")
@pytest.mark.skipif(not list((DATA / "finqa").glob("*.json*")), reason=f"no FinQA in {DATA}; set MAGE_ES_DATA")
def test_every_gold_program_comes_to_the_gold_result_of_its_record() -> None:
    executed = 0
    for path in sorted((DATA / "finqa").glob("*.json.gz")):
        for record in json.loads(gzip.decompress(path.read_bytes())):
            done = execute(tokens_of(record["qa"]["program"]), record["table"])
            assert done == Executed(record["qa"]["exe_ans"]), record["id"]
            executed += 1
    assert executed == 1057
