"""How to shop, gathered from a prompt: from quoted episodes by what they did, from advice by what it says.

Rules
    - Without any account the habits are the simplest: the whole instruction is the query, the first product is opened
      and bought as it is.
    - An episode speaks for or against a habit only where its own instruction leaves the choice: one that names options
      tells whether they are chosen, one with a price whether it is searched for. The majority counts; advice is one
      voice for what it advises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mage_es.engine.models.shopper.prompt_reading import (
    BUTTONS,
    BUY,
    PREVIOUS,
    Instruction,
    Step,
    read_instruction,
    read_steps,
)

_EPISODE = re.compile(r"^Question: (.*)\n((?:(?!Question: |Achieved: ).*\n?)*)", re.MULTILINE)
_RECIPE = re.compile(r"^Achieved: .*\n((?:Action: .*\n?)+)", re.MULTILINE)
_ADVICE = {
    "chooses_options": re.compile(r"\b(?:click|choose|select)\b[^.]*\boptions?\b[^.]*\bbefore\b[^.]*\bbuy", re.I),
    "leaves_price": re.compile(r"\bsearch\b[^.]*\bwithout\b[^.]*\bprice\b", re.I),
    "looks_further": re.compile(r"\b(?:open|try)\b[^.]*\b(?:next|another|other) product\b", re.I),
}


class Habits(NamedTuple):
    """Which options are chosen before buying, what is left out of a query, and whether the first product will do."""

    chooses_options: bool = False
    leaves_price: bool = False
    looks_further: bool = False


class _Votes(dict[str, int]):
    def cast(self, habit: str, *, is_for: bool) -> None:
        """Count one voice for a habit, or against it."""
        self[habit] = self.get(habit, 0) + (1 if is_for else -1)


def habits_of(sections: dict[str, str]) -> Habits:
    """Return the habits that what is told beforehand speaks for."""
    told = "\n".join(sections.values())
    votes = _Votes()
    for instruction, steps in _episodes(told):
        _watch(instruction, steps, votes)
    for recipe in _RECIPE.findall(told):
        _watch_recipe(read_steps(recipe), votes)
    for habit, pattern in _ADVICE.items():
        for _ in pattern.findall(told):
            votes.cast(habit, is_for=True)
    return Habits(**{habit: votes.get(habit, 0) > 0 for habit in Habits._fields})


def _episodes(told: str) -> Iterator[tuple[Instruction, Sequence[Step]]]:
    for question, account in _EPISODE.findall(told):
        steps = read_steps(account)
        if steps and steps[-1].action == BUY:
            yield read_instruction(question.strip()), steps


def _watch(instruction: Instruction, steps: Sequence[Step], votes: _Votes) -> None:
    done = [step.action for step in steps]
    if instruction.values:
        chosen = [f"click[{value}]" in done for value in instruction.values]
        votes.cast("chooses_options", is_for=all(chosen))
    if instruction.price:
        bound = instruction.price.removeprefix(", and ")
        votes.cast("leaves_price", is_for=not any(bound in action for action in done if action.startswith("search")))
    if PREVIOUS in done:  # only an account of going back says that it helps; most need not
        votes.cast("looks_further", is_for=True)


def _watch_recipe(steps: Sequence[Step], votes: _Votes) -> None:
    """Between a product and its purchase, what is no button is an option."""
    between = [step.action for step in steps[1:-1]]
    if steps and steps[-1].action == BUY and between:
        votes.cast("chooses_options", is_for=any(action not in BUTTONS for action in between))
