"""Token-set ratios and colours."""

import pytest

from mage_es.engine.bench.webshop.reward import COLOURS, is_alike, plain_colour, plain_option, token_set_ratio


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("café", "cafe", 86),
        ("x-large", "xx-large", 93),
        ("8 fl oz", "16 fl oz (pack of 2)", 83),
        ("a_b", "a b", 67),
        ("7", "7.5", 100),
        ("Black", "black!", 100),
        ("white black", "black white black", 100),
        ("", "", 0),
        ("é", "é", 0),
        ("?!", "black", 0),
        ("红色", "红色", 100),
        ("red", "blue", 29),
    ],
)
def test_the_ratio_is_thefuzzs(one: str, other: str, ratio: int) -> None:
    assert token_set_ratio(one, other) == token_set_ratio(other, one) == ratio


def test_alike_is_above_85() -> None:
    assert is_alike("café", "cafe") and not is_alike("8 fl oz", "16 fl oz (pack of 2)")


def test_the_colours_are_upstreams_in_its_order() -> None:
    assert (len(COLOURS), COLOURS[0], COLOURS[-1], len(set(COLOURS))) == (102, "alabaster", "yellow", 102)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("stand", "tan"),
        ("layered", "red"),
        ("rose gold", "gold"),
        ("dark red", "dark"),
        ("black1901", "black"),
        ("Red", "Red"),
        ("x-large", "x-large"),
    ],
)
def test_the_first_colour_word_anywhere_in_a_value_replaces_it(value: str, plain: str) -> None:
    assert plain_colour(value) == plain


@pytest.mark.parametrize(
    ("name", "value", "plain"),
    [
        ("color", "red", "red"),
        ("white", "large", "white"),
        ("color", "dark red", "color dark red"),
        ("size", "7", "size 7"),
    ],
)
def test_a_named_option_is_a_colour_only_where_name_or_value_is_one(name: str, value: str, plain: str) -> None:
    assert plain_option(name, value) == plain
