"""A shop of a few products, made by hand, and where the real catalogue lies."""

import json
import os
from functools import cache
from pathlib import Path
from random import Random

import msgspec
import pytest

from mage_es.engine.bench.webshop.catalogue import Catalogue, ProductInstruction, RawProduct, load_catalogue
from mage_es.engine.bench.webshop.goals import Goal, Option
from mage_es.engine.bench.webshop.nouns import nouns_by_rule
from mage_es.engine.bench.webshop.shop import Store, open_store

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[5] / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not list((DATA / "webshop").glob("items_shuffle_1000.json*")), reason=f"no WebShop in {DATA}; set MAGE_ES_DATA"
)


def raw(asin: str, **changes: object) -> RawProduct:
    """A raw entry, plain but for the changes."""
    entry = {
        "asin": asin,
        "name": f"Thing {asin}",
        "full_description": "A thing.",
        "small_description": ["first point", "second point"],
        "product_category": "Home › Things › Small Things",
        "category": "garden",
        "query": " Things ",
        "customization_options": "",
        "pricing": "$12.5",
        "images": ["https://example.org/1.jpg"],
    }
    return msgspec.convert({**entry, **changes}, RawProduct)


SHIRT = {
    "Color": [{"value": "Red", "image": None}, {"value": "Dark Blue"}],
    "Size": [{"value": " S/M "}, {"value": "L"}],
    "Fit": None,
}
ENTRIES = [
    raw("B000000001", name="Cotton Shirt", customization_options=SHIRT, pricing="$10.00 to $30.00"),
    raw("B000000002", name="Silk Shirt", query="shirts"),
    raw("B000000003", name="Garden Knob", full_description=None, small_description="one text", pricing=""),
    *(raw(f"B0000001{number:02d}", name=f"Plain Lamp {number}") for number in range(25)),
]
"""Three products of their own and 25 lamps."""
INSTRUCTIONS = {
    "B000000001": ProductInstruction(["soft cotton"], "Find me shirts with soft cotton", ["soft cotton"]),
    "B000000002": ProductInstruction(["pure silk"]),
}


def catalogue(entries: list[RawProduct] = ENTRIES, *, num_products: int | None = None, seed: int = 1) -> Catalogue:
    """The catalogue of some entries."""
    return load_catalogue(entries, INSTRUCTIONS, num_products=num_products, stream=Random(seed))


@cache
def store() -> Store:
    """The shop that sells them."""
    return open_store(catalogue(), nouns=nouns_by_rule)


def goal(**changes: object) -> Goal:
    """The wish for the red cotton shirt in S/M, but for the changes."""
    wanted = Goal(
        product=catalogue().products[0],
        text="Find me shirts with soft cotton with color: red, and size: s | m, and price lower than 40.00 dollars",
        attributes=("soft cotton",),
        options=(Option("color", "red"), Option("size", "s | m")),
        price_upper=40.0,
    )
    return msgspec.structs.replace(wanted, **changes)


def write_files(folder: Path, entries: list[dict[str, object]], instructions: dict[str, object]) -> Path:
    """The files of a data directory, under the names under which people download them."""
    target = folder / "webshop"
    target.mkdir()
    (target / "items_shuffle_1000.json").write_text(json.dumps(entries))
    (target / "items_ins_v2_1000.json").write_text(json.dumps(instructions))
    return folder
