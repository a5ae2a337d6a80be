from fractions import Fraction

from mage_es.engine.players.arithmetic.casting import Casting
from mage_es.engine.players.arithmetic.chains import OperationChain, bind
from mage_es.engine.players.arithmetic.equations import find_equations
from mage_es.engine.players.arithmetic.problems import read_problem

TO = read_problem("He counts 5 hens and 8 dogs and 3 cats.")


def chain(reasoning: str, answer: int) -> OperationChain:
    known = read_problem("She has 9 pens and 4 cups.").quantities
    found = bind(find_equations(reasoning), known, answer=Fraction(answer))
    assert found is not None
    return found


def test_the_assignment_maximises_the_sum_of_likenesses() -> None:
    casting = Casting([[0.9, 0.8, 0.0], [0.8, 0.1, 0.0]], ties=frozenset(), to=TO)
    cast = casting.carry_out(chain("9 + 4 = 13", 13))
    assert cast is not None and dict(cast.mapping) == {0: 1, 1: 0}


def test_an_implausible_result_is_mended_by_the_next_best_cast() -> None:
    casting = Casting([[0.50, 0.45, 0.0], [0.45, 0.50, 0.0]], ties=frozenset(), to=TO)
    cast = casting.carry_out(chain("9 - 4 = 5", 5))
    assert cast is not None and cast.equations[-1].value == 3


def test_too_few_quantities_give_no_cast() -> None:
    casting = Casting([[], []], ties=frozenset(), to=read_problem("No number."))
    assert casting.carry_out(chain("9 + 4 = 13", 13)) is None
