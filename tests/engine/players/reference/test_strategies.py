from fractions import Fraction

import pytest

from mage_es.engine.players.arithmetic.chains import Operand, OperationChain, bind
from mage_es.engine.players.arithmetic.equations import find_equations
from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.reference.strategies import print_strategy, split_steps

QUESTION = "Ana packs 4 boxes with 6 jars each and gives 5 jars away. How many jars are left?"


def chain(reasoning: str, answer: int) -> OperationChain:
    found = bind(find_equations(reasoning), read_problem(QUESTION).quantities, answer=Fraction(answer))
    assert found is not None
    return found


def test_a_strategy_says_what_is_asked_what_each_number_is_and_what_to_do() -> None:
    rate, percent = (Operand("quantity", at, form, Fraction(0)) for at, form in enumerate(("as said", "hundredths")))
    result, seven = Operand("result", 0, "as said", Fraction(0)), Operand("constant", 0, "as said", Fraction(7))
    said = print_strategy(
        asks=["how many", "asks rest"],
        roles=[["rate", "near before pack"], ["kind percent"]],
        steps=[(rate, "*", percent), (result, "-", seven)],
    )
    assert said.splitlines() == [
        "It asks: how many; with a word of rest.",
        "A stands for a number: a rate; just after a word of pack.",
        "B stands for a number: given as percent.",
        "Step 1: multiply A by B (in hundredths).",
        "Step 2: subtract 7 from result 1.",
    ]


@pytest.mark.parametrize("reasoning", ["4 * 6 - 5 = 19", "(4 * 6) - 5 = 19", "4 * 6 = 24\n24 - 5 = 19"])
def test_steps_are_split_into_single_operations(reasoning: str) -> None:
    steps = split_steps(chain(reasoning, 19))
    assert [[item for item in step if isinstance(item, str)] for step in steps] == [["*"], ["-"]]
