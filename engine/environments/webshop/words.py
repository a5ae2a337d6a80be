"""What a transcript says of a step: one line, free of brackets, so that it never reads as another action."""

from __future__ import annotations

from collections.abc import Iterable

from mage_es.engine.environments.webshop.catalogue import Product

SEARCH_PAGE = "The search page"
_BRACKETS = str.maketrans("[]", "()")


def results_words(number: int, total: int) -> str:
    return f"Page {number} (Total results: {total})"


def product_words(product: Product) -> str:
    return _line(f"{product.title}, {product.price_tag}")


def chosen_words(value: str) -> str:
    return _line(f"You have clicked {value}.")


def bought_words(reward: float) -> str:
    return f"Your score: {reward:.3g}"


def purchase(asin: str, options: Iterable[tuple[str, str]]) -> str:
    """Such as `B01N7PR1LL with color: red, size: small`; people's options have no name."""
    named = ", ".join(f"{name}: {value}" if name else value for name, value in options)
    return f"{asin}{' with ' if named else ''}{named}"


def _line(text: str) -> str:
    return " ".join(text.translate(_BRACKETS).split())
