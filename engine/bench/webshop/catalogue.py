"""The products of a catalogue as the shop shows them, normalised as upstream's loader does (load_products).

Rules
    - Products keep the order of the file. Of each product number the first entry counts, and numbers without a product
      are skipped.
    - `num_products` counts raw entries of the file, so a catalogue may hold fewer products. The search index holds that
      many loaded products, so it may include products outside the catalogue; such hits are dropped.
    - Effective prices are drawn once for a catalogue, in its order.
"""

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

import msgspec

LONGEST_ASIN = 10
NO_PRICE = 100.0
"""The price used for a product without one."""
NO_ATTRIBUTE = "DUMMY_ATTR"
"""The attribute used for a product without any."""

_NOT_OF_A_NUMBER = re.compile(r"[^\d.]")


class OptionValue(msgspec.Struct, frozen=True):
    value: str | int | float


class RawProduct(msgspec.Struct, frozen=True):
    """An entry of the items file; keys that the shop does not use are not read."""

    asin: str
    name: str
    full_description: str | None
    small_description: list[str] | str | None
    product_category: str
    category: str
    query: str
    customization_options: dict[str, list[OptionValue | None] | None] | str | None = ""
    pricing: str | None = None


class ProductInstruction(msgspec.Struct, frozen=True):
    attributes: list[str] = []
    instruction: str | None = None
    instruction_attributes: list[str] | None = None


class HumanInstruction(msgspec.Struct, frozen=True):
    instruction: str
    instruction_attributes: list[str]
    instruction_options: list[str]


class Product(NamedTuple):
    """`pricing` is one price, or the range that the effective price is drawn from."""

    asin: str
    title: str
    description: str
    bullet_points: tuple[str, ...]
    category: str
    query: str
    product_category: str
    pricing: tuple[float, ...]
    price_tag: str
    options: Mapping[str, tuple[str, ...]]
    attributes: tuple[str, ...]

    @property
    def category_levels(self) -> frozenset[str]:
        return frozenset(level.strip() for level in self.product_category.split("›"))


class Catalogue(NamedTuple):
    products: tuple[Product, ...]
    prices: Mapping[str, float]
    indexed: tuple[Product, ...]


def load_catalogue(
    entries: Sequence[RawProduct],
    instructions: Mapping[str, ProductInstruction],
    *,
    num_products: int | None,
    stream: Random,
) -> Catalogue:
    """Load the first `num_products` entries (all with None) and draw the effective prices."""
    everything = _products(entries, instructions)
    products = everything if num_products is None else _products(entries[:num_products], instructions)
    prices = {
        product.asin: stream.uniform(*product.pricing) if len(product.pricing) == 2 else product.pricing[0]
        for product in products
    }
    return Catalogue(tuple(products), prices, tuple(everything[:num_products]))


def options_of(raw: RawProduct) -> dict[str, tuple[str, ...]]:
    """Names and values are in lower case, with ` | ` for a slash."""
    given = raw.customization_options
    if not isinstance(given, dict):
        return {}
    return {
        name.lower(): tuple(str(each.value).strip().replace("/", " | ").lower() for each in values if each is not None)
        for name, values in given.items()
        if values is not None
    }


def prices_of(pricing: str | None) -> tuple[float, ...]:
    """Return the prices in a text such as `$12.50 to $34.00`: the first two at most, or NO_PRICE."""
    numbers = [_NOT_OF_A_NUMBER.sub("", part) for part in (pricing or "").split("$")[1:]]
    found = [float(number) for number in numbers if number.strip(".") and number.count(".") <= 1]
    return tuple(found[:2]) or (NO_PRICE,)


def _products(entries: Sequence[RawProduct], instructions: Mapping[str, ProductInstruction]) -> list[Product]:
    found: dict[str, Product] = {}
    for raw in entries:
        if raw.asin != "nan" and len(raw.asin) <= LONGEST_ASIN and raw.asin not in found:
            known = instructions.get(raw.asin)
            found[raw.asin] = _product(raw, tuple(known.attributes) if known else ())
    return list(found.values())


def _product(raw: RawProduct, attributes: tuple[str, ...]) -> Product:
    points = raw.small_description
    prices = prices_of(raw.pricing)
    return Product(
        asin=raw.asin,
        title=raw.name,
        description=raw.full_description or "",
        bullet_points=tuple(points) if isinstance(points, list) else (points or "",),
        category=raw.category,
        query=raw.query.lower().strip(),
        product_category=raw.product_category,
        pricing=prices,
        price_tag=" to ".join(f"${price}" for price in prices),
        options=options_of(raw),
        attributes=attributes or (NO_ATTRIBUTE,),
    )
