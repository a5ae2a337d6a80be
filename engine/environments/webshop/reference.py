"""How a goal is reached by one who knows it: the transcript that is the reference solution of evolution goals.

Rules
    - It searches as the instruction asks, without its first words, options and price; by the product's title only
      where that does not bring it up. Then come the product, its options as they stand on its page, and the purchase.
    - Its lines are those that playing it would give.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mage_es.engine.environments.webshop.catalogue import Product
from mage_es.engine.environments.webshop.goals import Goal
from mage_es.engine.environments.webshop.pages import BUY, NEXT, PAGE_SIZE
from mage_es.engine.environments.webshop.shop import Store
from mage_es.engine.environments.webshop.words import bought_words, chosen_words, product_words, results_words
from mage_es.engine.rules.trajectories import transcript_line

_OPENING = re.compile(r"^(?:find me|i am looking for|i'm looking for|i need|i want)\s+", re.IGNORECASE)


class Route:
    """The way to one product, shared by all its goals; empty where no search brings it up."""

    def __init__(self, store: Store, product: Product, asked: str) -> None:
        self.lines: tuple[str, ...] = ()
        for query in (_OPENING.sub("", asked).lower(), product.title.lower()):
            hits = store.search(query)
            if product in hits and "\n" not in query:
                pages = hits.index(product) // PAGE_SIZE + 1
                shown = [results_words(number, len(hits)) for number in range(1, pages + 1)]
                actions = [f"search[{query}]", *[f"click[{NEXT.lower()}]"] * (pages - 1)]
                found = [transcript_line(action, words) for action, words in zip(actions, shown, strict=True)]
                opened = transcript_line(f"click[{product.asin.lower()}]", product_words(product))
                self.lines = (*found, opened)
                return


def solution(route: Route, goal: Goal, product: Product) -> str:
    """Return the transcript of reaching a goal by the route to its product; "" where there is none."""
    return "\n".join((*route.lines, *_choices(goal, product))) if route.lines else ""


def _choices(goal: Goal, product: Product) -> Iterator[str]:
    wanted = {option.value for option in goal.options}
    for values in product.options.values():
        for value in values:
            if value in wanted:
                wanted.discard(value)
                yield transcript_line(f"click[{value}]", chosen_words(value))
    yield transcript_line(f"click[{BUY.lower()}]", bought_words(1.0))
