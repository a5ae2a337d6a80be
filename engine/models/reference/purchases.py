"""Purchases by rule: what a shopping episode left out, next to one that bought all that was asked for.

Rules
    - An account is a purchase if each of its lines is a search or a click and one of them buys.
    - Advice is general: it names a fault that at least two failures share, never a product. A correction is about one
      failure and says what was not clicked, what else was bought, and the way that leads there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mage_es.engine.agents.briefs import AuthoredFailure, Case, FailureBrief, FailureCase

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
"""What helps against each fault, in the order of saying it where two are equally frequent."""


class Purchase(NamedTuple):
    """What an account did: its searches, the product that it bought ("" if none), what else was clicked on its page."""

    queries: tuple[str, ...]
    product: str
    options: tuple[str, ...]


def read_purchase(account: str) -> Purchase | None:
    """Return what an account of an episode did; None if it is none of shopping."""
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
    """Return what a failed visit left out and the way that was right; "" for a case that is no shopping."""
    right, wrong = _pair(case)
    if right is None:
        return ""
    said = list(_said(right, wrong))
    return "\n".join([*said, "This buys all that is asked for:", case.solution.strip()])


def purchase_strategies(brief: FailureBrief) -> list[AuthoredFailure]:
    """Return the advice that the failures share as a strategy of their task type, if they share any."""
    advice = purchase_advice(brief.cases)
    if not advice:
        return []
    first = next(case for case in brief.cases if read_purchase(case.solution) is not None)
    return [
        AuthoredFailure(
            question_id=first.question_id,
            kind="type_strategy",
            recognise=f"An instruction of the kind {brief.task_type} that says what to find, with options and a price.",
            reasoning="\n".join(f"{number}. {sentence}" for number, sentence in enumerate(advice, start=1)),
            answer=first.answer,
        )
    ]


def purchase_advice(cases: Sequence[Case]) -> list[str]:
    """Return one sentence for each fault that at least two failures share, the commonest first."""
    faults: Counter[str] = Counter()
    for case in cases:
        if isinstance(case, FailureCase):
            right, wrong = _pair(case)
            faults.update(_faults(right, wrong) if right is not None else ())
    shared = [fault for fault in faults if faults[fault] >= _LEAST_CASES]
    return [_ADVICE[fault] for fault in sorted(shared, key=lambda fault: (-faults[fault], list(_ADVICE).index(fault)))]


def is_shopping(cases: Sequence[Case]) -> bool:
    """Return whether any case is about a purchase."""
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
