from fractions import Fraction

from mage_es.engine.models.arithmetic.chains import bind
from mage_es.engine.models.arithmetic.equations import find_equations
from mage_es.engine.models.reference.operations import in_order


def test_operations_are_named_in_order_with_repeats_in_a_row_once() -> None:
    chain = bind(find_equations("3 * 4 = 12\n12 * 2 = 24\n24 - 5 + 1 = 20"), [], answer=Fraction(20))
    assert chain is not None
    assert in_order(chain) == ("multiply", "subtract", "add")
