from fractions import Fraction

from mage_es.engine.models.arithmetic.chains import Chain, bind, execute
from mage_es.engine.models.arithmetic.equations import find_equations
from mage_es.engine.models.arithmetic.quantities import read_problem


def chain_of(question: str, reasoning: str, answer: int) -> Chain | None:
    return bind(find_equations(reasoning), read_problem(question).quantities, Fraction(answer))


def test_operands_are_bound_to_quantities_and_results() -> None:
    chain = chain_of("Ana packs 4 boxes with 6 jars each and gives 5 jars away.", "4 * 6 = 24\n24 - 5 = 19", 19)
    assert chain is not None
    assert chain.needed == (0, 1, 2)
    done = execute(chain, {0: Fraction(3), 1: Fraction(7), 2: Fraction(1)})
    assert done is not None and done[-1].value == 20


def test_a_percentage_is_bound_through_its_rest() -> None:
    chain = chain_of("A hat costs $40 and is sold at 25% off.", "40 * (1 - 25%) = 30", 30)
    assert chain is not None
    done = execute(chain, {0: Fraction(80), 1: Fraction(50)})
    assert done is not None and done[-1].value == 40
    changed = chain_of("A hat costs $40 and is sold at 25% off.", "40 * 0.75 = 30", 30)
    assert changed is not None and changed.odd == 0


def test_half_is_bound_to_a_division_by_two() -> None:
    chain = chain_of("Half of the 48 pupils walk.", "48 / 2 = 24", 24)
    assert chain is not None
    done = execute(chain, {0: Fraction(1, 3), 1: Fraction(60)})
    assert done is not None and done[-1].value == 20


def test_a_result_is_preferred_to_a_quantity_of_the_same_value() -> None:
    chain = chain_of("4 boxes of 6 jars stand beside 24 tins; 5 break.", "4 * 6 = 24\n24 - 5 = 19", 19)
    assert chain is not None
    assert chain.needed == (0, 1, 3)


def test_steps_that_the_answer_does_not_need_are_dropped() -> None:
    chain = chain_of("He has 4 cats, 6 dogs and 9 fish.", "4 + 9 = 13\n4 * 6 = 24", 24)
    assert chain is not None
    assert len(chain.steps) == 1


def test_a_number_that_nobody_mentioned_is_counted_as_odd() -> None:
    chain = chain_of("She has 4 cats.", "4 * 17 = 68", 68)
    assert chain is not None and chain.odd == 1


def test_reasoning_that_does_not_reach_the_answer_gives_no_chain() -> None:
    assert chain_of("She has 4 cats and 3 dogs.", "4 + 3 = 7", 9) is None


def test_dividing_by_zero_gives_nothing() -> None:
    chain = chain_of("She shares 8 figs among 4.", "8 / 4 = 2", 2)
    assert chain is not None
    assert execute(chain, {0: Fraction(8), 1: Fraction(0)}) is None
