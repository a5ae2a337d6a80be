"""Principles speak for what works as they say, and can be carried out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mage_es.engine.players.analogist.maxims import applicable, carry_out, operations_in, speaks_for
from mage_es.engine.players.arithmetic.equations import find_equations
from mage_es.engine.players.arithmetic.principles import Principle
from mage_es.engine.players.arithmetic.problems import read_problem

LEMONS = read_problem("Each crate holds 12 lemons, and Omar fills 3 crates. After selling 9 lemons, how many are left?")
LEFT = 'When the question says "left", multiply, then subtract.'
LEFT_EACH = 'When the question says "each" and "left", multiply, then subtract.'
SHARE = 'When the question says "share", divide.'


def test_principles_count_where_the_question_says_all_of_their_words_and_those_with_most_words_first() -> None:
    assert [principle.cues for principle in applicable([LEFT, SHARE, "Read twice."], LEMONS)] == [("left",)]
    assert [principle.cues for principle in applicable([LEFT, LEFT_EACH], LEMONS)] == [("each", "left")]


def test_a_principle_speaks_for_equations_with_just_its_operations() -> None:
    principle = Principle(cues=("left",), operations=("multiply", "subtract"))
    assert speaks_for([principle], find_equations("3 * 12 = 36\n36 - 9 = 27"))
    assert speaks_for([principle], find_equations("3 * 12 - 9 = 27"))
    assert not speaks_for([principle], find_equations("3 * 12 = 36"))
    assert operations_in(find_equations("3 * 12 - 9 = 27")) == ("multiply", "subtract")


@pytest.mark.parametrize(
    ("operations", "lines"),
    [(("multiply", "subtract"), ["36", "27"]), (("add", "add"), ["15", "24"]), (("divide", "multiply"), ["4", "36"])],
)
def test_a_principle_is_carried_out_on_the_numbers(operations: tuple[str, ...], lines: list[str]) -> None:
    equations = carry_out(Principle(cues=("left",), operations=operations), LEMONS)
    assert [str(equation.value) for equation in equations] == lines


def test_a_rate_is_multiplied_by_what_it_is_a_rate_of() -> None:
    problem = read_problem("Omar has 9 lemons and fills 3 crates. Each crate holds 12 lemons. How many lemons in all?")
    equations = carry_out(Principle(cues=("all",), operations=("multiply", "add")), problem)
    assert equations[-1].value == Fraction(45)


def test_a_principle_for_another_count_of_numbers_is_not_carried_out() -> None:
    assert carry_out(Principle(cues=("left",), operations=("multiply",)), LEMONS) == []
