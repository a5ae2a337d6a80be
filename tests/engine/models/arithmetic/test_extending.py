from fractions import Fraction

import pytest

from mage_es.engine.models.arithmetic.equations import Equation
from mage_es.engine.models.arithmetic.extending import extend
from mage_es.engine.models.arithmetic.problems import read_problem


@pytest.mark.parametrize(
    ("question", "left", "result", "answer"),
    [
        ("A hat costs $20. She loses $4 and then buys 3 hats. What does she pay?", 2, 16, 48),
        ("He has 24 figs and each day he eats 4 figs. How many days do they last?", 1, 24, 6),
        ("She has 24 figs and finds 4 more figs. How many figs has she?", 1, 24, 28),
        ("She has 24 figs and loses 4 figs. How many figs has she?", 1, 24, 20),
        ("A road is 90 km long, and 30 km are paved. How many km are left?", 0, 30, 60),
    ],
)
def test_a_number_left_over_is_used_as_hinted(question: str, left: int, result: int, answer: int) -> None:
    problem = read_problem(question)
    used = [quantity for at, quantity in enumerate(problem.quantities) if at != left]
    done = [Equation((Fraction(result),), Fraction(result))]
    further = extend(done, problem.quantities[left], used=used, to=problem)
    assert further is not None and further.value == answer


def test_without_a_hint_or_a_whole_result_nothing_is_added() -> None:
    plain = read_problem("There are 24 figs and 7 pens. What is the colour?")
    done = [Equation((Fraction(24),), Fraction(24))]
    assert extend(done, plain.quantities[1], used=plain.quantities[:1], to=plain) is None
    rate = read_problem("He has 24 figs and each day he eats 7 figs. How many days do they last?")
    assert extend(done, rate.quantities[1], used=rate.quantities[:1], to=rate) is None
