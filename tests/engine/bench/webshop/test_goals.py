"""Goals: combinations of options, price bounds, and the shuffle."""

from random import Random

import pytest

from mage_es.engine.bench.webshop.catalogue import HumanInstruction, ProductInstruction, load_catalogue
from mage_es.engine.bench.webshop.files import read_files
from mage_es.engine.bench.webshop.goals import NO_BOUND, Option, human_goals, shuffled_goals, synthetic_goals
from tests.engine.bench.webshop.small import DATA, INSTRUCTIONS, SHIRT, catalogue, needs_data, raw


def test_every_combination_of_option_values_is_a_goal_with_names_in_order() -> None:
    goals = synthetic_goals(catalogue(), INSTRUCTIONS, Random(1))
    assert [[option.value for option in made.options] for made in goals] == [
        ["red", "s | m"], ["red", "l"], ["dark blue", "s | m"], ["dark blue", "l"],
    ]  # fmt: skip
    first = goals[0]
    assert first.options == (Option("color", "red"), Option("size", "s | m"))
    assert first.text.startswith("Find me shirts with soft cotton with color: red, and size: s | m, and price lower")
    assert first.product.title == "Cotton Shirt"
    assert len({made.price_upper for made in goals}) == 1  # drawn once for a product


def test_a_product_without_options_has_one_goal_and_one_without_instruction_none() -> None:
    told = {"B1": ProductInstruction(["a"], "Find me things", ["a"]), "B2": ProductInstruction(["a"])}
    goals = synthetic_goals(catalogue([raw("B1"), raw("B2")]), told, Random(1))
    assert [made.product.asin for made in goals] == ["B1"] and goals[0].options == ()
    assert goals[0].text.startswith("Find me things, and price lower than ")


@pytest.mark.parametrize(
    ("price", "bounds"),
    [
        ("$12.5", {30.0, 40.0, 50.0}),
        ("$10", {30.0, 40.0, 50.0}),
        ("$9.99", {20.0, 30.0, 40.0}),
        ("$965", {980.0, 990.0}),
        ("$975", {990.0}),
        ("$985", {NO_BOUND}),
        ("$2000", {NO_BOUND}),
    ],
)
def test_a_bound_is_the_larger_of_two_of_the_next_four_multiples_of_ten(price: str, bounds: set[float]) -> None:
    told = {"B1": ProductInstruction(["a"], "Find me things", ["a"])}
    made = [synthetic_goals(catalogue([raw("B1", pricing=price)]), told, Random(n))[0] for n in range(60)]
    assert {one.price_upper for one in made} == bounds
    for one in made:
        ending = "" if one.price_upper == NO_BOUND else f", and price lower than {one.price_upper:.2f} dollars"
        assert one.text == f"Find me things{ending}"


def test_peoples_goals_lose_their_full_stops_and_those_without_attributes_are_left_out() -> None:
    told = {
        "B000000001": [
            HumanInstruction("I want a shirt.", ["soft"], ["red", "l"]),
            HumanInstruction("nothing said", [], ["red"]),
            HumanInstruction("..another..", ["soft"], []),
        ]
    }
    first, second = human_goals(catalogue(), told, Random(4))
    assert first.text.startswith("I want a shirt, and price lower than") and second.text.startswith(
        "another, and price"
    )
    assert first.options == (Option("", "red"), Option("", "l"))


@pytest.mark.paper("section 4, WebShop, goals")
def test_one_stream_draws_prices_then_bounds_and_is_then_seeded_with_233() -> None:
    stream, same = Random(9), Random(9)
    entries = [raw("B1", pricing="$1 to $5"), raw("B2", customization_options=SHIRT)]
    told = {name: ProductInstruction(["a"], f"find {name}", ["a"]) for name in ("B1", "B2")}
    goals = synthetic_goals(load_catalogue(entries, told, num_products=None, stream=stream), told, stream)
    same.uniform(1, 5)
    bounds = [max(same.sample([10.0, 20.0, 30.0, 40.0], 2)), max(same.sample([20.0, 30.0, 40.0, 50.0], 2))]
    assert list(dict.fromkeys(made.price_upper for made in goals)) == list(dict.fromkeys(bounds))
    expected = list(goals)
    Random(233).shuffle(expected)
    assert shuffled_goals(goals, stream) == expected


@pytest.mark.paper("section 4, WebShop, goals")
@needs_data
@pytest.mark.parametrize(("products", "synthetic", "human"), [(100, 352, 1), (1000, 4987, 8), (None, 4987, 8)])
def test_the_real_catalogue_has_as_many_goals_as_upstreams_rule_makes(
    products: int | None, synthetic: int, human: int
) -> None:
    files, stream = read_files("webshop-1000", DATA, with_human=True), Random(42)
    loaded = load_catalogue(files.items, files.instructions, num_products=products, stream=stream)
    assert len(synthetic_goals(loaded, files.instructions, stream)) == synthetic
    assert len(human_goals(loaded, files.human, stream)) == human


def test_options_are_named_in_alphabetical_order_whatever_their_order_on_the_page() -> None:
    entry = raw("B1", customization_options={"Size": [{"value": "m"}], "Color": [{"value": "red"}]})
    made = synthetic_goals(catalogue([entry]), {"B1": ProductInstruction(["a"], "Find me things", ["a"])}, Random(1))
    assert "with color: red, and size: m" in made[0].text
