"""BM25 with quantised lengths: scores by hand, order, ties and bounds."""

import math

import numpy as np
import pytest

from mage_es.engine.bench.webshop.catalogue import Product
from mage_es.engine.bench.webshop.search import SearchEngine, document_of, quantised
from tests.engine.bench.webshop.small import catalogue, raw, store


def product(asin: str, title: str) -> Product:
    return catalogue([raw(asin, name=title, full_description="", small_description=[])]).products[0]


def test_a_document_is_title_description_first_point_and_options_in_lower_case() -> None:
    document = document_of(catalogue().products[0])
    assert document == "cotton shirt a thing. first point color: red, dark blue, and size: s | m, l"


@pytest.mark.parametrize(
    ("length", "stored"),
    [(0, 0), (23, 23), (24, 24), (39, 39), (40, 40), (41, 40), (42, 42), (55, 54), (56, 56), (59, 56), (60, 60),
     (100, 96), (200, 200), (1000, 984)],
)  # fmt: skip
def test_of_a_length_above_24_the_four_most_significant_bits_are_kept(length: int, stored: int) -> None:
    assert quantised(length) == stored


@pytest.mark.paper("section 4, WebShop, the search")
def test_scores_are_the_formulas_without_the_factor_k1_plus_1() -> None:
    engine = SearchEngine([product("B1", "red lamp lamp"), product("B2", "red sofa"), product("B3", "chair")])
    mean = (3 + 2 + 1) / 3

    def score(frequency: int, length: int, holding: int) -> float:
        rarity = math.log(1 + (3 - holding + 0.5) / (holding + 0.5))
        return rarity * frequency / (frequency + 0.9 * (1 - 0.4 + 0.4 * length / mean))

    found = engine.scores("red lamp lamp")
    assert [asin for asin, _ in found] == ["B1", "B2"]
    assert found[0][1] == pytest.approx(score(1, 3, 2) + 2 * score(2, 3, 1), rel=1e-6)
    assert found[1][1] == pytest.approx(score(1, 2, 2), rel=1e-6)
    assert all(float(np.float32(value)) == value for _, value in found)


def test_a_long_document_counts_with_its_quantised_length() -> None:
    long = f"lamp {' '.join(f'word{number}' for number in range(40))}"  # 41 terms, stored as 40
    engine = SearchEngine([product("B1", long), product("B2", "chair")])
    rarity = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = rarity / (1 + 0.9 * (1 - 0.4 + 0.4 * 40 / 21))
    assert engine.scores("lamp")[0][1] == pytest.approx(expected, rel=1e-6)


def test_ties_are_in_the_order_of_product_numbers_whatever_the_order_of_the_catalogue() -> None:
    engine = SearchEngine([product(asin, "lamp") for asin in ("B3", "B1", "B2")])
    assert engine.search("lamp") == ["B1", "B2", "B3"]
    mixed = {f"B{number:03d}": "lamp lamp sofa" if number % 3 else "lamp sofa" for number in range(48)}
    found = SearchEngine([product(asin, title) for asin, title in mixed.items()]).search("lamp")
    assert found == sorted(mixed, key=lambda asin: (mixed[asin] == "lamp sofa", asin))


@pytest.mark.parametrize("query", ["", "the of and", "nowhere", "?!"])
def test_a_query_without_a_known_term_finds_nothing(query: str) -> None:
    assert store().engine.search(query) == []


def test_at_most_fifty_are_found() -> None:
    engine = SearchEngine([product(f"B{number:03d}", "lamp") for number in range(80)])
    assert engine.search("lamps") == [f"B{number:03d}" for number in range(50)]


def test_what_is_found_beyond_the_catalogue_is_dropped() -> None:
    shop = store()
    smaller = {asin: shop.by_asin[asin] for asin in list(shop.by_asin)[:5]}
    assert len(shop._replace(by_asin=smaller).search("plain lamp")) == 2


def test_no_text_at_all_makes_an_index_that_finds_nothing() -> None:
    assert SearchEngine([]).search("lamp") == SearchEngine([product("B1", "")]).search("lamp") == []
