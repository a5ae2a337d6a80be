"""How to shop, gathered from a prompt: from what quoted episodes did, and from what advice says.

An episode votes on a habit only if its own instruction left the choice: one that names options shows whether they were
chosen, one with a price whether it was part of the query. Advice has one vote. The majority counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.standins.shopper.wording import BUTTONS, BUY, PREVIOUS, read_instruction, read_steps

_EPISODE = re.compile(r"^Question: (.*)\n((?:(?!Question: |Achieved: ).*\n?)*)", re.MULTILINE)
_RECIPE = re.compile(r"^Achieved: .*\n((?:Action: .*\n?)+)", re.MULTILINE)
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
    votes: Counter[str] = Counter()
    for question, account in _EPISODE.findall(text):
        _watch(question.strip(), _bought(account), votes)
    for recipe in _RECIPE.findall(text):
        between = _bought(recipe)[1:-1]
        if between:  # between a product and its purchase, what is no button is an option
            votes["chooses_options"] += 1 if any(action not in BUTTONS for action in between) else -1
    for habit, pattern in _ADVICE.items():
        votes[habit] += len(pattern.findall(text))
    return Habits(**{habit: votes[habit] > 0 for habit in Habits._fields})


def _bought(account: str) -> Sequence[str]:
    done = [step.action for step in read_steps(account)]
    return done if done[-1:] == [BUY] else ()


def _watch(question: str, done: Sequence[str], votes: Counter[str]) -> None:
    if not done:
        return
    instruction = read_instruction(question)
    if instruction.values:
        votes["chooses_options"] += 1 if all(f"click[{value}]" in done for value in instruction.values) else -1
    if instruction.price:
        bound = instruction.price.removeprefix(", and ")
        votes["leaves_price"] += -1 if any(bound in act for act in done if act.startswith("search")) else 1
    if PREVIOUS in done:  # most episodes need not go back, so only those that do have a vote
        votes["looks_further"] += 1
