"""Purchases: what a failed shopping episode left out, compared with one that bought everything asked for."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mage_es.engine.briefs import AuthoredPrinciple, Case, FailureCase

_LINE = re.compile(r"(search|click)\[(.*?)\](?:: (.*))?")
_BUY, _NEXT = "buy now", "next >"
_BUTTONS = frozenset({_BUY, _NEXT, "< prev", "back to search", "description", "features", "reviews", "attributes"})
_PRICE = re.compile(r"price lower than [\d.]+")
_LEAST_CASES = 2

_ADVICE = {
    "options": "Click every option that the instruction names before you buy.",
    "product": "Go back and open another product where the page lacks an option that is named.",
    "price": "Search with the words of the instruction, without the price.",
    "unbought": "Buy before the steps run out: a visit without a purchase earns nothing.",
}
"""The advice for each fault; among equally frequent faults, the earlier one comes first."""


class Purchase(NamedTuple):
    """`product` is "" if nothing was bought."""

    queries: tuple[str, ...]
    product: str
    options: tuple[str, ...]


def read_purchase(account: str) -> Purchase | None:
    lines = [line.strip() for line in account.splitlines() if line.strip()]
    read = [found for line in lines if (found := _LINE.match(line))]
    if not read:
        return None
    product, options = "", list[str]()
    for found in read:
        name, argument, effect = found.groups()
        if name == "search" or argument in ("back to search", "< prev"):
            product, options = "", []
        elif argument not in _BUTTONS and effect != "Invalid action!":
            if product:
                options.append(argument)
            else:
                product = argument
    bought = any(found[1] == "click" and found[2] == _BUY for found in read)
    queries = tuple(found[2] for found in read if found[1] == "search")
    return Purchase(queries, product if bought else "", tuple(options))


def purchase_correction(case: FailureCase) -> str:
    """Return "" for a case without shopping."""
    right, wrong = _pair(case)
    if right is None:
        return ""
    return "\n".join([*_said(right, wrong), "This buys all that is asked for:", case.solution.strip()])


def purchase_principles(cases: Sequence[Case], existing: Sequence[str]) -> list[AuthoredPrinciple]:
    """Return a sentence for each fault that at least two failures share, the most frequent first.

    [section 3.3, failure memories of WebShop] It names no product.
    """
    faults: dict[str, list[str]] = {}
    for case in cases:
        if isinstance(case, FailureCase):
            right, wrong = _pair(case)
            for fault in _faults(right, wrong) if right is not None else ():
                faults.setdefault(fault, []).append(case.question_id)
    shared = [fault for fault in faults if len(faults[fault]) >= _LEAST_CASES]
    order = sorted(shared, key=lambda fault: (-len(faults[fault]), list(_ADVICE).index(fault)))
    return [
        AuthoredPrinciple(do=_ADVICE[fault], cases=tuple(faults[fault]))
        for fault in order
        if _ADVICE[fault] not in existing
    ]


def is_shopping(cases: Sequence[Case]) -> bool:
    return any(read_purchase(case.solution) is not None for case in cases)


def _pair(case: FailureCase) -> tuple[Purchase | None, Purchase]:
    return read_purchase(case.solution), read_purchase(case.wrong_reasoning) or Purchase((), "", ())


def _faults(right: Purchase, wrong: Purchase) -> set[str]:
    found = set()
    if not wrong.product:
        found.add("unbought")
    elif set(right.options) - set(wrong.options):
        found.add("options")
    if wrong.product and wrong.product != right.product:
        found.add("product")
    if any(_PRICE.search(query) for query in wrong.queries) and wrong.product != right.product:
        found.add("price")
    return found


def _said(right: Purchase, wrong: Purchase) -> Iterator[str]:
    missing = [option for option in right.options if option not in wrong.options]
    if not wrong.product:
        yield "Nothing was bought."
    elif wrong.product != right.product:
        yield f"Another product was bought, {wrong.product.upper()}, and not {right.product.upper()}."
    if wrong.product and missing:
        yield f"Not clicked: {', '.join(missing)}."
