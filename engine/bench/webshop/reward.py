"""What a purchase is worth: how much of the goal's attributes, options and price it meets, times a factor for its kind.

reward = type factor x (attribute hits + option hits + price hit) / (attributes + options + 1)

Wordings are compared by thefuzz's token-set ratio: characters U+0080 to U+00FF vanish, every other non-word character
becomes a space, the rest is compared in lower case as sets of tokens. Underscores stay, which rapidfuzz's own
processing drops.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from mage_es.engine.bench.webshop.catalogue import Product
from mage_es.engine.bench.webshop.goals import Goal
from mage_es.engine.bench.webshop.nouns import NounFinder
from mage_es.events.errors import PrerequisiteError

ALIKE = 85
"""Two wordings match if their ratio is above this."""
_COLOURS = """
    alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel camo
    caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry cream crystal
    dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey heather indigo ivory
    ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor
    mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal rust sand
    sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise violet walnut
    wheat white wine yellow
"""
COLOURS = tuple(_COLOURS.split())
"""Upstream's colour words, in its order; the first that occurs wins."""

_LATIN_1 = re.compile("[\u0080-\u00ff]")
_NOT_OF_A_WORD = re.compile(r"\W")


def is_alike(one: str, other: str) -> bool:
    return token_set_ratio(one, other) > ALIKE


def token_set_ratio(one: str, other: str) -> int:
    """Return 0 to 100; 0 if either side has no word. Raises `PrerequisiteError`."""
    left, right = _plain(one), _plain(other)
    return round(library()(left, right)) if left and right else 0


def plain_colour(value: str) -> str:
    """Return the first colour word that occurs anywhere in a value (`tan` in `stand`), else the value."""
    return next((colour for colour in COLOURS if colour in value), value)


def plain_option(name: str, value: str) -> str:
    """Return the text by which a named option is compared: a colour if name or value is one, else `name value`."""
    return next((colour for colour in COLOURS if colour in (name, value)), f"{name} {value}")


@lru_cache(maxsize=100_000)
def _plain(text: str) -> str:
    return _NOT_OF_A_WORD.sub(" ", _LATIN_1.sub("", text)).lower().strip()


@lru_cache(maxsize=1)
def library() -> Callable[[str, str], float]:
    try:
        from rapidfuzz.fuzz import token_set_ratio as ratio
    except ImportError as error:
        raise PrerequisiteError(
            "WebShop's reward needs rapidfuzz, which is not installed. Run: python -m pip install 'mage-es[benchmarks]'"
        ) from error
    return ratio


SHARED_LEVELS = 2
"""The least number of category levels that two products of one kind share."""
NO_NOUN = 0.2
"""Title score if the wanted name has no noun."""


class Reward(NamedTuple):
    """In [0, 1], with upstream's info fields on how it was computed, except shares of what the goal lacks."""

    value: float
    info: Mapping[str, float | bool]


class TypeMatch(NamedTuple):
    factor: float
    query_match: bool
    category_match: bool
    title_score: float


def purchase_reward(
    product: Product, goal: Goal, *, price: float, options: Mapping[str, str], nouns: NounFinder, strict: bool = False
) -> Reward:
    """`options` maps name to value; the price is the product's effective one.

    [section 4, WebShop, scores] An episode is correct only with reward 1; its score is the reward.
    """
    kind = type_factor(product, goal, nouns=nouns)
    attributes = attribute_hits(product, goal)
    chosen = option_hits(goal, options, strict=strict)
    in_price = price <= goal.price_upper
    parts = len(goal.attributes) + len(goal.options) + 1
    info: dict[str, float | bool] = {
        "r_type": kind.factor,
        "w_att": len(goal.attributes) / parts,
        "query_match": kind.query_match,
        "category_match": kind.category_match,
        "title_score": kind.title_score,
    }
    if goal.attributes:
        info["r_att"] = attributes / len(goal.attributes)
    if goal.options:
        info |= {"r_option": chosen / len(goal.options), "w_option": len(goal.options) / parts}
    info |= {"r_price": in_price, "w_price": 1 / parts}
    return Reward(kind.factor * (attributes + chosen + in_price) / parts, info)


def attribute_hits(product: Product, goal: Goal) -> int:
    """Count the wanted attributes that the product has: a similar one, or its exact text."""
    texts = (product.title.lower(), " ".join(product.bullet_points).lower(), product.description.lower())
    return sum(
        any(is_alike(has, wanted) for has in product.attributes) or any(wanted in text for text in texts)
        for wanted in goal.attributes
    )


def option_hits(goal: Goal, options: Mapping[str, str], *, strict: bool = False) -> int:
    """Count the wanted options that a chosen value resembles; one value may match several.

    [section 4, WebShop, scores] An equal value is a hit. To the letter (`score --strict`), upstream turns `black1901`
    into `black` on one side only, and one goal in twelve is out of reach.
    """
    chosen = [plain_colour(value) for value in options.values()]
    equal = () if strict else options.values()
    hits = 0
    for name, value in goal.options:
        wanted = plain_option(name, value) if name else plain_colour(value)
        hits += value in equal or any(is_alike(wanted, have) for have in chosen)
    return hits


def type_factor(product: Product, goal: Goal, *, nouns: NounFinder) -> TypeMatch:
    """1, or 0.5 if nothing shows that the kinds agree, or almost 0 if the names differ."""
    wanted, bought = list(nouns(goal.product.title)), nouns(product.title)
    title_score = len(set(wanted) & set(bought)) / len(wanted) if wanted else NO_NOUN
    query_match = product.query == goal.product.query
    category_match = len(product.category_levels & goal.product.category_levels) >= SHARED_LEVELS
    factor = 1.0 if query_match or category_match or title_score > 0.2 else 0.5
    if title_score < 0.1:
        factor = 0.1 if title_score else 0.0
    return TypeMatch(factor, query_match, category_match, title_score)
