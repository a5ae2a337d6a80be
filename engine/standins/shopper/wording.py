"""The wording of WebShop: its buttons, its instructions, and how an account lists searches and clicks."""

from __future__ import annotations

import re
from typing import NamedTuple

from mage_es.engine.standins.prompts import PastStep

SEARCH = "search[<your query>]"
BUY, BACK, PREVIOUS, NEXT = "click[buy now]", "click[back to search]", "click[< prev]", "click[next >]"
BUTTONS = frozenset(
    {BUY, BACK, PREVIOUS, NEXT, "click[search]", "click[description]", "click[features]", "click[reviews]",
     "click[attributes]"}
)  # fmt: skip
"""Buttons that any page may have. Everything else that can be clicked is a product or an option."""

_ACTION = re.compile(r"^(?:\d+\. )?(?:[A-Z][a-z]+: )?((?:search|click)\[.*?\])(?:: (.*))?$", re.IGNORECASE)
_PRICE = re.compile(r", and price lower than [\d.]+ dollars$")
_OPTIONS = re.compile(r" with (?=(?:(?! with )[^:,])+: )")
_OPENING = re.compile(r"^find me ", re.IGNORECASE)


class InstructionParts(NamedTuple):
    """`options` is the text that names them, `values` are their values; `price` is the clause that bounds it."""

    opening: str
    asked: str
    options: str
    values: tuple[str, ...]
    price: str


def read_steps(text: str) -> list[PastStep]:
    return [PastStep(m.group(1).lower(), m.group(2) or "") for line in text.splitlines() if (m := _ACTION.match(line))]


def read_instruction(text: str) -> InstructionParts:
    price = _PRICE.search(text)
    rest = text[: price.start()] if price else text
    begins = _OPTIONS.search(rest)
    asked, options = (rest[: begins.start()], rest[begins.end() :]) if begins else (rest, "")
    opening = _OPENING.match(asked)
    return InstructionParts(
        opening=opening.group() if opening else "",
        asked=asked[opening.end() :] if opening else asked,
        options=options,
        values=tuple(part.partition(": ")[2].lower() for part in options.split(", and ")) if options else (),
        price=price.group() if price else "",
    )
