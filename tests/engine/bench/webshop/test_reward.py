"""What a purchase is worth, part by part."""

import msgspec
import pytest

from mage_es.engine.bench.webshop.catalogue import Product
from mage_es.engine.bench.webshop.goals import Goal, Option
from mage_es.engine.bench.webshop.nouns import nouns_by_rule
from mage_es.engine.bench.webshop.reward import Reward, attribute_hits, option_hits, purchase_reward, type_factor
from tests.engine.bench.webshop.small import catalogue, goal

SHIRT = catalogue().products[0]
CHOSEN = {"color": "red", "size": "s | m"}


def reward(product: Product = SHIRT, wanted: Goal | None = None, *, price: float = 20.0, **options: str) -> Reward:
    return purchase_reward(product, wanted or goal(), price=price, options=options, nouns=nouns_by_rule)


def test_the_wanted_product_with_its_options_within_the_bound_is_worth_one() -> None:
    made = reward(**CHOSEN)
    assert made.value == 1.0
    assert made.info == {
        "r_type": 1.0, "r_att": 1.0, "w_att": 0.25, "query_match": True, "category_match": True, "title_score": 1.0,
        "r_option": 1.0, "w_option": 0.5, "r_price": True, "w_price": 0.25,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("price", "options", "value"),
    [
        (20.0, {}, 0.5),
        (20.0, {"color": "red"}, 0.75),
        (20.0, {"color": "dark blue", "size": "s | m"}, 0.75),
        (40.0, CHOSEN, 1.0),
        (40.01, CHOSEN, 0.75),
        (99.0, {}, 0.25),
    ],
)
def test_each_option_and_the_price_count_alike_and_equality_is_within_the_bound(
    price: float, options: dict[str, str], value: float
) -> None:
    assert reward(price=price, **options).value == value


def test_a_goal_without_attributes_has_no_share_of_them() -> None:
    made = reward(wanted=msgspec.structs.replace(goal(options=()), attributes=()))
    assert made.value == 1.0 and made.info["w_att"] == 0.0 and "r_att" not in made.info


def test_a_goal_without_options_has_no_option_fields() -> None:
    made = reward(wanted=goal(options=()))
    assert made.value == 1.0 and made.info["w_att"] == 0.5
    assert "r_option" not in made.info and "w_option" not in made.info


@pytest.mark.parametrize(
    ("product", "wanted", "hits"),
    [
        ({"attributes": ("tea tree", "essential oil")}, ("tea tree", "essential oils"), 2),
        ({"attributes": ("x",), "title": "A Machine Wash shirt"}, ("machine wash",), 1),
        ({"attributes": ("x",), "title": "A Machine Wash shirt"}, ("Machine Wash",), 0),
        ({"attributes": ("x",), "bullet_points": ("ends with machine", "wash it")}, ("machine wash",), 1),
        ({"attributes": ("x",), "description": "Machine wash."}, ("machine wash",), 1),
        ({"attributes": ("tea bag",), "title": "tea"}, ("tea tree", "black tea"), 0),
    ],
)
def test_an_attribute_is_met_by_one_alike_or_by_its_own_text_in_title_points_or_description(
    product: dict[str, object], wanted: tuple[str, ...], hits: int
) -> None:
    assert attribute_hits(SHIRT._replace(**product), goal(attributes=wanted)) == hits  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "chosen", "hits"),
    [
        ([("color", "red")], {"colour": "red"}, 1),
        ([("color", "red")], {"color": "layered"}, 1),
        ([("color", "rose gold")], {"color": "rose gold"}, 1),
        ([("size", "7")], {"size": "7"}, 1),
        ([("size", "x-large")], {"size": "xx-large"}, 0),
        ([("size", "large"), ("fit", "large")], {"size": "large"}, 2),
        ([("", "grey"), ("", "pack of 12")], {"color": "grey stone", "count": "pack of 12"}, 2),
        ([("", "cool powder snow")], {"color": "powder snow"}, 1),
        ([("", "stand")], {"x": "tan"}, 1),
        ([("", "Red")], {"color": "blue"}, 0),
        ([("size", "7")], {}, 0),
    ],
)
def test_every_wanted_option_is_met_by_any_chosen_value_that_is_alike(
    wanted: list[tuple[str, str]], chosen: dict[str, str], hits: int
) -> None:
    assert option_hits(goal(options=tuple(Option(*pair) for pair in wanted)), chosen) == hits


@pytest.mark.paper("section 4, WebShop, scores")
def test_the_wanted_value_itself_is_a_hit_but_for_upstreams_rule_to_the_letter() -> None:
    wanted = goal(options=(Option("color", "black1901"),))
    assert option_hits(wanted, {"color": "black1901"}) == 1
    assert option_hits(wanted, {"color": "black1901"}, strict=True) == 0


@pytest.mark.parametrize(
    ("change", "factor", "query", "category"),
    [
        ({}, 1.0, True, True),
        ({"query": "shirts"}, 1.0, False, True),
        ({"query": "shirts", "product_category": "Small Things › Home"}, 1.0, False, True),
        ({"query": "shirts", "product_category": "Home › Home › Other"}, 1.0, False, False),
        ({"query": "shirts", "product_category": "a", "title": "Silk Dress Shirt"}, 1.0, False, False),
        ({"query": "shirts", "product_category": "a", "title": "Silk Dress"}, 0.0, False, False),
        ({"title": "Silk Dress"}, 0.0, True, True),
    ],
)
def test_the_kind_is_right_by_query_two_levels_or_name_and_wrong_by_name_alone(
    change: dict[str, object], factor: float, query: bool, category: bool
) -> None:
    kind = type_factor(SHIRT._replace(**change), goal(), nouns=nouns_by_rule)  # type: ignore[arg-type]
    assert (kind.factor, kind.query_match, kind.category_match) == (factor, query, category)


@pytest.mark.parametrize(
    ("shared", "of", "factor"), [(0, 20, 0.0), (1, 20, 0.1), (2, 20, 0.5), (4, 20, 0.5), (5, 20, 1.0), (0, 0, 0.5)]
)
def test_with_nothing_else_in_common_the_share_of_nouns_decides(shared: int, of: int, factor: float) -> None:
    nouns = {"Cotton Shirt": [f"n{at}" for at in range(of)], "Other": [f"n{at}" for at in range(shared)]}
    other = SHIRT._replace(title="Other", query="other", product_category="other")
    kind = type_factor(other, goal(), nouns=lambda name: nouns[name])
    assert kind.factor == factor and kind.title_score == (shared / of if of else 0.2)


def test_duplicate_nouns_of_the_wanted_name_count_in_the_denominator() -> None:
    kind = type_factor(SHIRT, goal(product=SHIRT._replace(title="bar bar shirt")), nouns=nouns_by_rule)
    assert kind.title_score == pytest.approx(1 / 3)


def test_the_factor_multiplies_everything() -> None:
    wanted = SHIRT._replace(query="other", product_category="other", title="a b c d e f g h i shirt")
    other = goal(product=wanted)
    made = purchase_reward(SHIRT, other, price=20.0, options=CHOSEN, nouns=lambda name: name.lower().split())
    assert made.info["r_type"] == 0.5 and made.value == 0.5
