"""What a shopper is asked to buy: instructions with their attributes, options and price bound.

Rules
    - One seeded stream (the standard library's generator) draws the effective prices, then the bounds in the order of
      the goals; it is then seeded with 233 and shuffles the goals, as upstream does.
    - The synthetic goals of one product share its bound: upstream draws it once for the product.
"""

from collections.abc import Mapping, Sequence
from itertools import product as combinations
from random import Random
from typing import NamedTuple

import msgspec

from mage_es.engine.bench.webshop.catalogue import Catalogue, HumanInstruction, Product, ProductInstruction

SHUFFLE_SEED = 233
"""Seed of upstream's shuffle of the goals."""
PRICE_STEPS = tuple(10.0 * step for step in range(1, 100))
CANDIDATES = 4
"""A price bound is the larger of two draws from this many multiples of ten above the price."""
NO_BOUND = 1_000_000.0


class Option(NamedTuple):
    """People's instructions name no option (""), only values."""

    name: str
    value: str


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is the whole instruction to buy a product."""

    product: Product
    text: str
    attributes: tuple[str, ...]
    options: tuple[Option, ...]
    price_upper: float


def synthetic_goals(catalogue: Catalogue, instructions: Mapping[str, ProductInstruction], stream: Random) -> list[Goal]:
    """Return one goal for each combination of option values of each product with an instruction."""
    goals: list[Goal] = []
    for product in catalogue.products:
        known = instructions.get(product.asin)
        if known is None or known.instruction is None or not known.instruction_attributes:
            continue
        bound, price_text = _price_bound(catalogue.prices[product.asin], stream)
        names = sorted(product.options)
        for values in combinations(*(product.options[name] for name in names)):
            options = tuple(map(Option, names, values))
            named = ", and ".join(f"{option.name}: {option.value}" for option in options)
            text = f"{known.instruction}{' with ' if named else ''}{named}{price_text}"
            attributes = tuple(known.instruction_attributes)
            goals.append(Goal(product=product, text=text, attributes=attributes, options=options, price_upper=bound))
    return goals


def human_goals(
    catalogue: Catalogue, instructions: Mapping[str, Sequence[HumanInstruction]], stream: Random
) -> list[Goal]:
    """Return one goal for each person's instruction that names an attribute."""
    goals = []
    for product in catalogue.products:
        for instruction in instructions.get(product.asin, ()):
            if instruction.instruction_attributes:
                bound, price_text = _price_bound(catalogue.prices[product.asin], stream)
                options = tuple(Option("", value) for value in instruction.instruction_options)
                text, attributes = (
                    instruction.instruction.strip(".") + price_text,
                    tuple(instruction.instruction_attributes),
                )
                goals.append(
                    Goal(product=product, text=text, attributes=attributes, options=options, price_upper=bound)
                )
    return goals


def shuffled_goals(goals: Sequence[Goal], stream: Random) -> list[Goal]:
    """Seed the stream with 233 and return the goals in the order of its shuffle: their official indices.

    [section 4, WebShop, goals] Prices and bounds, which upstream draws unseeded, come from this stream before it is
    seeded.
    """
    stream.seed(SHUFFLE_SEED)
    order = list(goals)
    stream.shuffle(order)
    return order


def _price_bound(price: float, stream: Random) -> tuple[float, str]:
    above = [step for step in PRICE_STEPS if step > price][:CANDIDATES]
    if len(above) < 2:
        return NO_BOUND, ""
    bound = max(stream.sample(above, 2))
    return bound, f", and price lower than {bound:.2f} dollars"
