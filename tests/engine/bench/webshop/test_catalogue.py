"""Loading products: what is skipped, what prices and options become, and what the index is made of."""

from random import Random

import pytest

from mage_es.engine.bench.webshop.catalogue import NO_ATTRIBUTE, load_catalogue, options_of, prices_of
from tests.engine.bench.webshop.small import ENTRIES, INSTRUCTIONS, catalogue, raw


@pytest.mark.parametrize(
    ("pricing", "prices", "tag"),
    [
        ("$12.50", (12.5,), "$12.5"),
        ("$12.50 to $34.00", (12.5, 34.0), "$12.5 to $34.0"),
        ("$19.99 - $27.99", (19.99, 27.99), "$19.99 to $27.99"),
        ("$1,099.00", (1099.0,), "$1099.0"),
        ("$1.00 $2.00 $3.00", (1.0, 2.0), "$1.0 to $2.0"),
        ("", (100.0,), "$100.0"),
        (None, (100.0,), "$100.0"),
        ("12.50", (100.0,), "$100.0"),
    ],
)
def test_a_pricing_becomes_one_or_two_prices_and_their_tag(
    pricing: str | None, prices: tuple[float, ...], tag: str
) -> None:
    assert prices_of(pricing) == prices
    assert catalogue([raw("B1", pricing=pricing)]).products[0].price_tag == tag


def test_the_first_entry_of_a_number_stands_and_what_is_no_number_is_skipped() -> None:
    entries = [raw("nan"), raw("B1", name="one"), raw("B0123456789"), raw("B1", name="two"), raw("B2")]
    assert [product.title for product in catalogue(entries).products] == ["one", "Thing B2"]


@pytest.mark.paper("section 4, WebShop, the catalogue")
def test_the_number_of_products_counts_raw_entries_and_the_index_loaded_ones() -> None:
    entries = [raw("B1"), raw("nan"), raw("B2"), raw("B3"), raw("B4")]
    loaded = catalogue(entries, num_products=3)
    assert [product.asin for product in loaded.products] == ["B1", "B2"]
    assert [product.asin for product in loaded.indexed] == ["B1", "B2", "B3"]


def test_options_are_lower_case_with_bars_for_slashes_and_without_null_entries() -> None:
    assert options_of(ENTRIES[0]) == {"color": ("red", "dark blue"), "size": ("s | m", "l")}
    assert options_of(ENTRIES[1]) == {}
    sizes = raw("B1", customization_options={"Size": [None, {"value": 7, "image": None}, {"value": "L"}]})
    assert options_of(sizes) == {"size": ("7", "l")}


def test_texts_become_what_is_shown() -> None:
    shirt, silk, knob = catalogue().products[:3]
    assert shirt.query == "things" and shirt.bullet_points == ("first point", "second point")
    assert (knob.description, knob.bullet_points, knob.price_tag) == ("", ("one text",), "$100.0")
    assert shirt.attributes == ("soft cotton",) and silk.attributes == ("pure silk",)
    assert knob.attributes == (NO_ATTRIBUTE,)
    assert knob.category_levels == {"Home", "Things", "Small Things"}


def test_an_effective_price_is_drawn_once_between_two_and_is_the_only_one_otherwise() -> None:
    prices = catalogue(seed=1).prices
    assert 10 <= prices["B000000001"] <= 30 and prices["B000000002"] == 12.5 and prices["B000000003"] == 100.0
    assert prices == catalogue(seed=1).prices != catalogue(seed=2).prices


def test_prices_are_the_first_draws_of_the_stream_in_the_order_of_the_catalogue() -> None:
    stream, same = Random(3), Random(3)
    entries = [raw("B2", pricing="$1 to $2"), raw("B1", pricing="$5"), raw("B3", pricing="$1 to $9")]
    prices = load_catalogue(entries, INSTRUCTIONS, num_products=None, stream=stream).prices
    assert prices == {"B2": same.uniform(1, 2), "B1": 5.0, "B3": same.uniform(1, 9)}
    assert stream.random() == same.random()
