"""Units of measure: the dimension that a word measures, and its size relative to other units of that dimension."""

from fractions import Fraction

from mage_es.engine.players.arithmetic.words import stem

_SIZES: dict[str, dict[str, Fraction | int]] = {
    "time": {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800},
    "long time": {"month": 1, "year": 12, "decade": 120, "century": 1200},
    "length": {"millimetre": 1, "millimeter": 1, "mm": 1, "centimetre": 10, "centimeter": 10, "cm": 10, "metre": 1000,
               "meter": 1000, "kilometre": 10**6, "kilometer": 10**6, "km": 10**6},
    "imperial length": {"inch": 1, "foot": 12, "yard": 36, "mile": 63360},
    "mass": {"milligram": 1, "gram": 1000, "kilogram": 10**6, "kg": 10**6, "tonne": 10**9},
    "imperial mass": {"ounce": 1, "pound": 16, "ton": 32000},
    "volume": {"millilitre": 1, "milliliter": 1, "ml": 1, "centilitre": 10, "centiliter": 10, "litre": 1000,
               "liter": 1000},
    "imperial volume": {"ounce": 1, "cup": 8, "pint": 16, "quart": 32, "gallon": 128},
    "money": {"cent": 1, "dollar": 100},
}  # fmt: skip

UNITS: dict[str, tuple[str, Fraction]] = {
    stem(word): (dimension, Fraction(size)) for dimension, sizes in _SIZES.items() for word, size in sizes.items()
}
"""Stem of a unit's name -> its dimension, and its size in the dimension's smallest unit."""


def ratio(one: str, other: str) -> Fraction | None:
    """None unless both measure the same dimension and differ."""
    if one not in UNITS or other not in UNITS:
        return None
    (dimension, size), (other_dimension, other_size) = UNITS[one], UNITS[other]
    return size / other_size if dimension == other_dimension and size != other_size else None
