from fractions import Fraction

import pytest

from mage_es.engine.players.arithmetic.numerals import MOST_NUMBERS, find_numerals
from mage_es.engine.players.arithmetic.words import tokenize


def read(text: str) -> list[tuple[Fraction, str]]:
    return [(numeral.value, numeral.kind) for numeral in find_numerals(tokenize(text))]


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("1,200 sheep", "1200", "count"),
        ("$3.50 each", "7/2", "money"),
        ("12 dollars", "12", "money"),
        ("twelve euros and", "12", "money"),
        ("€5 more", "5", "money"),
        ("25% off", "25", "percent"),
        ("thirty percent off", "30", "percent"),
        ("3/4 of it", "3/4", "fraction"),
        ("1 1/2 hours", "3/2", "count"),
        ("twenty-five boys", "25", "count"),
        ("two hundred and five ships", "205", "count"),
        ("three thousand forty coins", "3040", "count"),
        ("2 million people", "2000000", "count"),
        ("two thirds of them", "2/3", "fraction"),
        ("two-thirds of them", "2/3", "fraction"),
        ("a quarter of them", "1/4", "fraction"),
        ("she eats a third.", "1/3", "fraction"),
        ("half the class", "1/2", "fraction"),
        ("twice as many", "2", "factor"),
        ("four times as many", "4", "factor"),
        ("7 times as old", "7", "factor"),
        ("a dozen eggs", "12", "factor"),
    ],
)
def test_a_number_is_read_exactly_with_its_kind(text: str, value: str, kind: str) -> None:
    assert read(text) == [(Fraction(value), kind)]


def test_an_ordinal_before_a_noun_is_no_number() -> None:
    assert read("a third friend came on the second day") == []


def test_numbers_stand_in_the_order_of_the_text() -> None:
    assert [value for value, _ in read("5 boxes, 3 bags and twelve tins")] == [5, 3, 12]


def test_no_more_than_a_bound_of_numbers_is_read() -> None:
    assert len(read("1 2 3 4 5 " * 50)) == MOST_NUMBERS
