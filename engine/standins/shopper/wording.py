"""The wording of WebShop: its buttons, its instructions, and how an account lists searches and clicks."""

from __future__ import annotations

import re
from typing import NamedTuple

SEARCH = "search[<your query>]"
BUY, BACK, PREVIOUS, NEXT = "click[buy now]", "click[back to search]", "click[< prev]", "click[next >]"
BUTTONS = frozenset(
    {BUY, BACK, PREVIOUS, NEXT, "click[search]", "click[description]", "click[features]", "click[reviews]",
     "click[attributes]"}
)  # fmt: skip
"""Buttons that any page may have. Everything else that can be clicked is a product or an option."""

_ACTION = re.compile(r"^(?:\d+\. )?(?:[A-Z][a-z]+: )?((?:search|click)\[.*?\])(?:: .*)?$", re.IGNORECASE)
_PRICE = re.compile(r", and price lower than [\d.]+ dollars$")
_OPTIONS = re.compile(r" with (?=(?:(?! with )[^:,])+: )")
_OPENING = re.compile(r"^find me ", re.IGNORECASE)


class InstructionParts(NamedTuple):
    """How it opens, the option values that it names, and the clause that bounds the price."""

    opening: str
    values: tuple[str, ...]
    price: str


def actions_in(account: str) -> list[str]:
    return [match[1].lower() for line in account.splitlines() if (match := _ACTION.match(line))]


def read_instruction(text: str) -> InstructionParts:
    price = _PRICE.search(text)
    rest = text[: price.start()] if price else text
    begins, opening = _OPTIONS.search(rest), _OPENING.match(rest)
    options = rest[begins.end() :].split(", and ") if begins else []
    return InstructionParts(
        opening=opening.group() if opening else "",
        values=tuple(option.partition(": ")[2].lower() for option in options),
        price=price.group() if price else "",
    )
