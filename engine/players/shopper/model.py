"""The shopper: from a step prompt to a reason and an action.

It knows the shop's buttons and how instructions are worded; it must read in its prompt's advice how to shop. At a
temperature above 0 that share of its actions is a trial.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from mage_es.engine.players.prompts import StepPrompt
from mage_es.engine.players.stand_in import StandIn, count_words, episode_reply

SEARCH = "search[words of your own]"
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
    """How an instruction opens, the option values that it names, and the clause that bounds the price."""

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


_ADVICE = {
    "chooses_options": re.compile(r"\b(?:click|choose|select)\b[^.]*\boptions?\b[^.]*\bbefore\b[^.]*\bbuy", re.I),
    "leaves_price": re.compile(r"\bsearch\b[^.]*\bwithout\b[^.]*\bprice\b", re.I),
    "looks_further": re.compile(r"\b(?:open|try)\b[^.]*\b(?:next|another|other) product\b", re.I),
}


class Habits(NamedTuple):
    chooses_options: bool = False
    leaves_price: bool = False
    looks_further: bool = False


def habits_of(told: Mapping[str, str]) -> Habits:
    text = "\n".join(told.values())
    return Habits(**{habit: bool(pattern.search(text)) for habit, pattern in _ADVICE.items()})


LATEST_LOOK = 9
"""The last step at which it looks at another product."""
_NOT_OF_A_QUERY = re.compile(r"[\[\]\s]+")


def _choose(prompt: StepPrompt, dice: str, is_trial: bool) -> tuple[str, str]:
    choice = _Choice(prompt)
    return choice.attempt(dice) if is_trial else choice.best()


reply = episode_reply(_choose)
Shopper = partial(StandIn, "builtin/shopper", reply, count_words)


class _Choice:
    def __init__(self, prompt: StepPrompt) -> None:
        self._actions, self._habits = prompt.actions, habits_of(prompt.told)
        self._instruction = prompt.task.strip().partition("\n")[0].strip()
        self._wanted = read_instruction(self._instruction)
        self._done = actions_in(prompt.so_far)
        self._others = [action for action in prompt.actions if action not in BUTTONS and action != SEARCH]

    def best(self) -> tuple[str, str]:
        if SEARCH in self._actions:
            return f"search[{self._query()}]", "search for what is asked"
        if BUY in self._actions:
            return self._at_product()
        if self._others or NEXT in self._actions:
            return self._at_results()
        return (PREVIOUS, "go back") if PREVIOUS in self._actions else (self._actions[0], "go on")

    def attempt(self, digest: str) -> tuple[str, str]:
        if SEARCH in self._actions:
            return self.best()
        told = self._instruction.lower()
        fresh = [action for action in self._others if action not in self._done]
        named = [action for action in fresh if action.removeprefix("click[").removesuffix("]") in told]
        options = named or fresh or self._actions
        return options[int(digest[8:24], 16) % len(options)], "try something"

    def _query(self) -> str:
        wanted = self._wanted
        whole = self._instruction
        said = whole.removesuffix(wanted.price).removeprefix(wanted.opening) if self._habits.leaves_price else whole
        return _NOT_OF_A_QUERY.sub(" ", said).strip().lower() or "anything"

    def _at_results(self) -> tuple[str, str]:
        unseen = [product for product in self._others if product not in self._done]
        if unseen and self._may_look():
            return unseen[0], "open the first product that was not seen yet"
        if self._others:
            seen = [action for action in self._done if action in self._others]
            return (seen or self._others)[0], "open the product that was found first"
        return (PREVIOUS, "go back") if PREVIOUS in self._actions else (self._actions[0], "go back")

    def _at_product(self) -> tuple[str, str]:
        offered = [f"click[{value}]" for value in self._wanted.values if f"click[{value}]" in self._others]
        if self._habits.looks_further and len(offered) < len(self._wanted.values) and self._may_look():
            return PREVIOUS, "look at another product, since this one lacks an option"
        if self._habits.chooses_options:
            opened = max((at for at, action in enumerate(self._done) if action == PREVIOUS), default=0)
            open_ones = [option for option in offered if option not in self._done[opened:]]
            if open_ones:
                return open_ones[0], "choose an option that is named"
        return BUY, "buy it"

    def _may_look(self) -> bool:
        return len(self._done) <= LATEST_LOOK
