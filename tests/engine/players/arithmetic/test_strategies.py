from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.players.arithmetic.chains import Operand, OperationChain, bind
from mage_es.engine.players.arithmetic.equations import find_equations
from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.arithmetic.strategies import (
    Strategy,
    parse,
    parse_role,
    print_role,
    print_strategy,
    split_steps,
)

QUESTION = "Ana packs 4 boxes with 6 jars each and gives 5 jars away. How many jars are left?"


def chain(reasoning: str, answer: int) -> OperationChain:
    found = bind(find_equations(reasoning), read_problem(QUESTION).quantities, answer=Fraction(answer))
    assert found is not None
    return found


def test_a_printed_strategy_reads_back_as_it_was() -> None:
    strategy = Strategy(
        roles=(frozenset({"rate", "near before pack"}), frozenset({"kind percent"}), frozenset({"first"})),
        steps=(
            (Operand("quantity", 0, "as said", Fraction(0)), "*", Operand("quantity", 1, "hundredths", Fraction(0))),
            (Operand("result", 0, "as said", Fraction(0)), "-", Operand("constant", 0, "as said", Fraction(7))),
            (Operand("quantity", 2, "as said", Fraction(0)), "/", Operand("result", 1, "as said", Fraction(0))),
        ),
        asks=frozenset({"how many", "asks rest"}),
    )
    assert parse(print_strategy(strategy)) == strategy


def test_a_strategy_is_written_as_numbered_steps() -> None:
    strategy = Strategy(roles=(frozenset({"first"}),) * 3, steps=split_steps(chain("4 * 6 = 24\n24 - 5 = 19", 19)))
    assert print_strategy(strategy).splitlines()[3:] == [
        "Step 1: multiply A by B.",
        "Step 2: subtract C from result 1.",
    ]


@pytest.mark.parametrize("reasoning", ["4 * 6 - 5 = 19", "(4 * 6) - 5 = 19", "4 * 6 = 24\n24 - 5 = 19"])
def test_steps_are_split_into_single_operations(reasoning: str) -> None:
    steps = split_steps(chain(reasoning, 19))
    assert [[item for item in step if isinstance(item, str)] for step in steps] == [["*"], ["-"]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Think hard.",
        "Step 1: multiply A by B.",
        "A stands for a number: said first.",
        "A stands for a number: said first.\nStep 1: multiply A by Q.",
        "A stands for a number: said first.\nStep 1: multiply A by result 4.",
    ],
)
def test_other_advice_is_no_strategy(text: str) -> None:
    assert parse(text) is None


@given(st.text(max_size=300))
def test_any_text_can_be_parsed(text: str) -> None:
    parse(text)
    parse(f"A stands for a number: {text}.\nStep 1: multiply A by {text}.")


def test_the_description_of_a_number_is_read_back_without_what_is_said_in_other_words() -> None:
    role = frozenset({"rate", "near after pack"})
    assert print_role(role) == "a rate; just before a word of pack"
    assert parse_role(print_role(role) + "; a lucky one") == role
