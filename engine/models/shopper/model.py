"""The shopper behind the seam: a step prompt in, a reason and an action out.

Rules
    - The reply is a function of the request alone: no clock, no file, no random source, no memory between calls.
    - It is not a language model: no weights, no training. It knows the shop's buttons and how instructions are worded;
      whether options are chosen, prices searched for or other products looked at, its prompt must tell. At a
      temperature above 0 that share of its actions is tried out at random.
"""

from __future__ import annotations

import re

from mage_es.engine.models.players import completed, dice_of
from mage_es.engine.models.seam import Completion, Request
from mage_es.engine.models.shopper.habits import Habits, habits_of
from mage_es.engine.models.shopper.prompt_reading import (
    BUTTONS,
    BUY,
    NEXT,
    PREVIOUS,
    SEARCH,
    ReadPrompt,
    read_instruction,
    read_prompt,
)

LATEST_LOOK = 9
"""After so many steps no further product is looked at."""
_NOT_OF_A_QUERY = re.compile(r"[\[\]\s]+")


class Shopper:
    """`builtin/shopper`: shops by what its prompt tells of earlier visits."""

    name = "builtin/shopper"

    async def complete(self, request: Request) -> Completion:
        """Return a line of reasoning and the action. Never raises on any prompt."""
        return completed(request, reply)


def reply(prompt: str, temperature: float = 0.0) -> str:
    """Return the reply to a prompt; to one without valid actions, that there is nothing to do."""
    read = read_prompt(prompt)
    if not read.actions:
        return "There is no action to choose from."
    dice, is_trial = dice_of(prompt, temperature)
    choice = _Choice(read, habits_of(read.sections))
    action, reason = choice.attempt(dice) if is_trial else choice.best()
    final = f"Action: {action}"
    return final if read.is_direct else f"Next, {reason}.\n{final}"


class _Choice:
    """One choice of an action."""

    def __init__(self, read: ReadPrompt, habits: Habits) -> None:
        self._read, self._habits = read, habits
        self._wanted = read_instruction(read.instruction)
        self._done = [step.action for step in read.steps]
        self._others = [action for action in read.actions if action not in BUTTONS and action != SEARCH]

    def best(self) -> tuple[str, str]:
        """Return the action that the habits lead to, and the reason for it in a few words."""
        if SEARCH in self._read.actions:
            return f"search[{self._query()}]", "search for what is asked"
        if BUY in self._read.actions:
            return self._at_product()
        if self._others or NEXT in self._read.actions:
            return self._at_results()
        return (PREVIOUS, "go back") if PREVIOUS in self._read.actions else (self._read.actions[0], "go on")

    def attempt(self, digest: str) -> tuple[str, str]:
        """Return something to try: what the instruction mentions, else anything that can be clicked."""
        if SEARCH in self._read.actions:
            return self.best()
        told = self._read.instruction.lower()
        fresh = [action for action in self._others if action not in self._done]
        named = [action for action in fresh if action.removeprefix("click[").removesuffix("]") in told]
        options = named or fresh or list(self._read.actions)
        return options[int(digest[8:24], 16) % len(options)], "try something"

    def _query(self) -> str:
        wanted = self._wanted
        whole = self._read.instruction
        said = whole.removesuffix(wanted.price).removeprefix(wanted.opening) if self._habits.leaves_price else whole
        return _NOT_OF_A_QUERY.sub(" ", said).strip().lower() or "anything"

    def _at_results(self) -> tuple[str, str]:
        unseen = [product for product in self._others if product not in self._done]
        if unseen and self._may_look():
            return unseen[0], "open the first product that was not seen yet"
        if self._others:
            seen = [action for action in self._done if action in self._others]
            return (seen or self._others)[0], "open the product that was found first"
        return (PREVIOUS, "go back") if PREVIOUS in self._read.actions else (self._read.actions[0], "go back")

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
