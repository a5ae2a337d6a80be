"""The reference solution of a goal: the transcript of a visit that knows the product.

It searches in the words of the instruction, without its opening and the price, or by the product's title if that does
not find it. Then come the product, its options in the order of its page, and the purchase.
"""

import re
from collections.abc import Iterator

from mage_es.engine.bench.webshop.goals import Goal
from mage_es.engine.bench.webshop.pages import BUY, NEXT, PAGE_SIZE
from mage_es.engine.bench.webshop.reward import purchase_reward
from mage_es.engine.bench.webshop.shop import Store
from mage_es.engine.bench.webshop.shopping import bought_words, chosen_words, product_words, results_words
from mage_es.engine.seams.environment import transcript_line

_OPENING = re.compile(r"^(?:find me|i am looking for|i'm looking for|i need|i want)\s+", re.IGNORECASE)
_PRICE = re.compile(r", and price lower than [\d.]+ dollars$")
_NOT_OF_A_QUERY = re.compile(r"[\[\]\s]+")


def solution(store: Store, goal: Goal) -> str:
    """Return the transcript of reaching a goal; "" if no search finds its product."""
    product = goal.product
    for words in (_PRICE.sub("", _OPENING.sub("", goal.text)), product.title):
        query = _NOT_OF_A_QUERY.sub(" ", words).strip().lower()
        hits = store.search(query)
        if product in hits:
            found = _listed(query, rank=hits.index(product), total=len(hits))
            return "\n".join((*found, *_bought(store, goal)))
    return ""


def _listed(query: str, *, rank: int, total: int) -> Iterator[str]:
    yield transcript_line(f"search[{query}]", results_words(1, total))
    for number in range(2, rank // PAGE_SIZE + 2):
        yield transcript_line(f"click[{NEXT.lower()}]", results_words(number, total))


def _bought(store: Store, goal: Goal) -> Iterator[str]:
    product = goal.product
    yield transcript_line(f"click[{product.asin.lower()}]", product_words(product))
    chosen = _choices(goal)
    for value in chosen.values():
        yield transcript_line(f"click[{value}]", chosen_words(value))
    price = store.catalogue.prices[product.asin]
    reward = purchase_reward(product, goal, price=price, options=chosen, nouns=store.nouns)
    yield transcript_line(f"click[{BUY.lower()}]", bought_words(reward.value))


def _choices(goal: Goal) -> dict[str, str]:
    """Return the wanted values in the order of the product's page; values of people's goals fit any option."""
    wanted = {(option.name, option.value) for option in goal.options}
    return {
        name: value
        for name, values in goal.product.options.items()
        for value in values
        if (name, value) in wanted or ("", value) in wanted
    }
