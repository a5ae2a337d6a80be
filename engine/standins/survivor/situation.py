"""The situation in a survival prompt: what is in view, vitals and items, and the steps so far."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.standins.prompts import StepPrompt

_ENTRY = re.compile(r"^(\d+)\. Observation:$", re.MULTILINE)
_ACTION = re.compile(r"^Action: (.+)$", re.MULTILINE)
_THING = re.compile(r"^- (\w+) (\d+) steps? to your ([a-z-]+)$", re.MULTILINE)
_FACED = re.compile(r"^You face (\w+) at your front\.$", re.MULTILINE)
_VITAL = re.compile(r"^- (\w+): (\d+)/\d+$", re.MULTILINE)
_ITEM = re.compile(r"^- (\w+): (\d+)$", re.MULTILINE)
_ASLEEP = "You are sleeping"


class Seen(NamedTuple):
    """The nearest thing of a kind: steps away, and the directions that lead there."""

    distance: int
    directions: tuple[str, ...]

    @property
    def is_beside(self) -> bool:
        return self.distance == 1 or (self.distance == 2 and len(self.directions) == 2)


class View(NamedTuple):
    things: Mapping[str, Seen]
    faced: str
    is_asleep: bool


class Past(NamedTuple):
    """With the view before it."""

    number: int
    view: View
    action: str


class SurvivalSituation(NamedTuple):
    """Amounts of 0 are missing from `items`."""

    task: str
    past: Sequence[Past]
    view: View
    vitals: Mapping[str, int]
    items: Mapping[str, int]
    actions: Sequence[str]

    @property
    def number(self) -> int:
        return self.past[-1].number + 1 if self.past else 1


def situation_in(prompt: StepPrompt) -> SurvivalSituation:
    return SurvivalSituation(
        task=prompt.task,
        past=_past(prompt.so_far),
        view=view_in(prompt.observation),
        vitals={name: int(amount) for name, amount in _VITAL.findall(prompt.observation)},
        items={name: int(amount) for name, amount in _ITEM.findall(prompt.observation)},
        actions=prompt.actions,
    )


def view_in(text: str) -> View:
    faced = _FACED.search(text)
    things = {name: Seen(int(steps), tuple(where.split("-"))) for name, steps, where in _THING.findall(text)}
    return View(things, faced.group(1) if faced else "", _ASLEEP in text)


def _past(text: str) -> list[Past]:
    begins = list(_ENTRY.finditer(text))
    ends = [*(found.start() for found in begins[1:]), len(text)]
    past = []
    for found, end in zip(begins, ends, strict=False):  # an empty text has an end and no beginning
        told = text[found.end() : end]
        done = _ACTION.findall(told)
        past.append(Past(int(found.group(1)), view_in(told), done[-1] if done else ""))
    return past
