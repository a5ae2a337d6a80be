from fractions import Fraction

from mage_es.engine.players.arithmetic.chains import OperationChain, bind, execute, parts, without
from mage_es.engine.players.arithmetic.equations import find_equations
from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.arithmetic.quantities import Quantity


def chain_of(question: str, reasoning: str, answer: int) -> OperationChain | None:
    return bind(find_equations(reasoning), read_problem(question).quantities, answer=Fraction(answer))


def given(*values: Fraction) -> dict[int, Quantity]:
    return {
        at: Quantity(value=value, kind="count", noun="", per="", start=at, sentence=0, clause=0)
        for at, value in enumerate(values)
    }


def test_operands_are_bound_to_quantities_and_results() -> None:
    chain = chain_of("Ana packs 4 boxes with 6 jars each and gives 5 jars away.", "4 * 6 = 24\n24 - 5 = 19", 19)
    assert chain is not None
    assert chain.needed == (0, 1, 2)
    done = execute(chain, given(Fraction(3), Fraction(7), Fraction(1)))
    assert done is not None and done[-1].value == 20


def test_a_percentage_is_bound_through_its_rest() -> None:
    chain = chain_of("A hat costs $40 and is sold at 25% off.", "40 * (1 - 25%) = 30", 30)
    assert chain is not None
    done = execute(chain, given(Fraction(80), Fraction(50)))
    assert done is not None and done[-1].value == 40
    changed = chain_of("A hat costs $40 and is sold at 25% off.", "40 * 0.75 = 30", 30)
    assert changed is not None and changed.odd == 0


def test_half_is_bound_to_a_division_by_two() -> None:
    chain = chain_of("Half of the 48 pupils walk.", "48 / 2 = 24", 24)
    assert chain is not None
    done = execute(chain, given(Fraction(1, 3), Fraction(60)))
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
    assert execute(chain, given(Fraction(8), Fraction(0))) is None


def test_a_number_of_units_is_bound_to_the_units_and_changes_with_them() -> None:
    chain = chain_of("He works 3 hours; a cup takes 20 minutes.", "3 * 60 = 180\n180 / 20 = 9", 9)
    assert chain is not None
    weeks = read_problem("She stays 2 weeks; a picture takes 7 days.").quantities
    done = execute(chain, dict(enumerate(weeks)))
    assert done is not None and done[0].value == 14


def test_a_chain_can_be_cut_at_an_earlier_step() -> None:
    chain = chain_of("Ana packs 4 boxes with 6 jars each and gives 5 away.", "4 * 6 = 24\n24 - 5 = 19", 19)
    assert chain is not None
    assert [len(part.steps) for part in parts(chain)] == [2, 1]
    assert parts(chain)[1].needed == (0, 1)


def test_a_quantity_is_left_out_where_the_rest_still_makes_sense() -> None:
    chain = chain_of("Ana packs 4 boxes with 6 jars each and gives 5 away.", "4 * 6 = 24\n24 - 5 = 19", 19)
    assert chain is not None
    less = without(chain, 2)
    assert less is not None and less.needed == (0, 1)
    done = execute(less, given(Fraction(4), Fraction(6)))
    assert done is not None and done[-1].value == 24
    division = chain_of("She shares 8 figs among 4.", "8 / 4 = 2", 2)
    assert division is not None and without(division, 0) is None
