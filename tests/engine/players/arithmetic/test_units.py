from mage_es.engine.players.arithmetic.units import ratio
from mage_es.engine.players.arithmetic.words import stem


def test_units_of_one_dimension_have_a_ratio_both_ways() -> None:
    assert ratio(stem("hours"), stem("minutes")) == 60
    assert ratio(stem("grams"), stem("kilograms")) * 1000 == 1  # type: ignore[operator]
    assert ratio(stem("litres"), stem("centilitres")) == 100


def test_other_words_and_equal_units_have_none() -> None:
    assert ratio("hour", "kilogram") is None
    assert ratio("hour", "hour") is None
    assert ratio("box", "jar") is None
