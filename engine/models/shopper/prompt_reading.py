"""The parts of a shopping prompt: the instruction, what is told beforehand, the steps so far, what can be clicked.

Rules
    - Lines quoted with `> ` are data and never headings.
    - An instruction is read as shops word it: what is asked, `with name: value` for each option, the price bound.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.models.players import sections_of

SEARCH = "search[<your query>]"
BUY, BACK, PREVIOUS, NEXT = "click[buy now]", "click[back to search]", "click[< prev]", "click[next >]"
BUTTONS = frozenset(
    {BUY, BACK, PREVIOUS, NEXT, "click[search]", "click[description]", "click[features]", "click[reviews]",
     "click[attributes]"}
)  # fmt: skip
"""Buttons that any page of the shop may have; what else can be clicked is a product or an option."""

_ACTION = re.compile(r"^(?:\d+\. )?(?:[A-Z][a-z]+: )?((?:search|click)\[.*?\])(?:: (.*))?$", re.IGNORECASE)
_PRICE = re.compile(r", and price lower than [\d.]+ dollars$")
_OPTIONS = re.compile(r" with (?=(?:(?! with )[^:,])+: )")
_OPENING = re.compile(r"^find me ", re.IGNORECASE)


class Step(NamedTuple):
    """An action and what the shop said to it."""

    action: str
    effect: str


class Instruction(NamedTuple):
    """An instruction in its parts: how it opens, what is asked, the text of its options and their values, the price."""

    opening: str
    asked: str
    options: str
    values: tuple[str, ...]
    price: str


class ReadPrompt(NamedTuple):
    """What a prompt says. `sections` is what is told beforehand, by heading."""

    instruction: str
    sections: dict[str, str]
    steps: Sequence[Step]
    actions: Sequence[str]
    is_direct: bool


def read_prompt(prompt: str) -> ReadPrompt:
    """Return the parts of a prompt; whatever is missing is empty."""
    sections = sections_of(prompt)
    actions = [line.removeprefix("- ") for line in sections.pop("Valid actions", "").splitlines() if line[:2] == "- "]
    task, so_far = sections.pop("Task", ""), sections.pop("Episode so far", "")
    sections.pop("Observation", "")
    return ReadPrompt(
        instruction=next((line for line in task.splitlines() if line.strip()), "").strip(),
        sections=sections,
        steps=read_steps(so_far),
        actions=actions,
        is_direct="without reasoning" in prompt[prompt.rfind("## Valid actions") :].lower(),
    )


def read_steps(text: str) -> list[Step]:
    """Return the actions in a text that has one on a line, numbered or not; other lines are passed over."""
    return [Step(m.group(1).lower(), m.group(2) or "") for line in text.splitlines() if (m := _ACTION.match(line))]


def read_instruction(text: str) -> Instruction:
    """Return the parts of an instruction."""
    price = _PRICE.search(text)
    rest = text[: price.start()] if price else text
    begins = _OPTIONS.search(rest)
    asked, options = (rest[: begins.start()], rest[begins.end() :]) if begins else (rest, "")
    opening = _OPENING.match(asked)
    return Instruction(
        opening=opening.group() if opening else "",
        asked=asked[opening.end() :] if opening else asked,
        options=options,
        values=tuple(part.partition(": ")[2].lower() for part in options.split(", and ")) if options else (),
        price=price.group() if price else "",
    )
