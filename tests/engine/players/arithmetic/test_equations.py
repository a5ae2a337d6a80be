from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.players.arithmetic.equations import evaluate, find_equations, is_close, print_equation, to_text


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("48 / 2 = 24", "24"),
        ("So she has 48/2 = <<48/2=24>>24 clips.", "24"),
        ("5 apples * $2 = $10", "10"),
        ("3 x 4 = 12", "12"),
        ("3 × (4 + 1) = 15", "15"),
        ("(10 - 4) ÷ 3 = 2", "2"),
        ("20% of 50 = 10", "10"),
        ("1,200 − 200 = 1,000", "1000"),
        ("10 / 3 = 3.33", "10/3"),
        ("2 + 3 * 4 = 14", "14"),
    ],
)
def test_an_equation_is_found_in_prose_and_valued_exactly(line: str, value: str) -> None:
    assert [equation.value for equation in find_equations(line)] == [Fraction(value)]


@pytest.mark.parametrize("line", ["2 + 2 = 5", "x = 5", "7 = 7", "4 / 0 = 1", "=", "5 + = 5", ") 3 + 4 ( = 7 - 1", ""])
def test_what_is_no_true_equation_is_passed_over(line: str) -> None:
    assert find_equations(line) == []


def test_a_chained_line_gives_an_equation_for_every_true_equals_sign() -> None:
    assert [equation.value for equation in find_equations("3 * 4 = 12 + 5 = 17")] == [12, 17]


@given(st.text(alphabet="0123456789.,+-*/x()=% $\nab", max_size=120))
def test_no_text_breaks_the_reader_and_what_it_finds_is_true(text: str) -> None:
    for equation in find_equations(text):
        assert evaluate(equation.expression) == equation.value


@given(st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=100))
def test_a_printed_number_reads_back_as_close(value: Fraction) -> None:
    assert is_close(value, Fraction(to_text(value))) or abs(value) < 1


def test_integers_are_printed_without_a_point() -> None:
    assert [to_text(Fraction(value)) for value in ("24", "-3", "1/4", "10/3")] == ["24", "-3", "0.25", "3.333333"]


def test_an_expression_prints_as_it_is_written() -> None:
    (equation,) = find_equations("(3 + 4) * 2 = 14")
    assert print_equation(equation) == "(3 + 4) * 2 = 14"
