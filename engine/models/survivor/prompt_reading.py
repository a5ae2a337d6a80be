"""The parts of a survival prompt: what is told of earlier episodes, the steps so far, what is seen, the choices.

Rules
    - Lines quoted with `> ` are data and never headings.
    - The form of an observation is known (`- thing 3 steps to your north-west`, `- item: 2`, `You face ...`), no thing
      in it is: what a thing is good for has to be told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.models.players import sections_of

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
        """Return whether it is on one of the eight tiles around."""
        return self.distance == 1 or (self.distance == 2 and len(self.directions) == 2)


class View(NamedTuple):
    """What is seen at a moment."""

    things: Mapping[str, Seen]
    faced: str
    is_asleep: bool


class Past(NamedTuple):
    """A step of the episode: its number, what was seen before it, and what was done."""

    number: int
    view: View
    action: str


class ReadPrompt(NamedTuple):
    """What a prompt says. `lore` is all that is told beforehand, heading by heading; amounts of 0 are missing."""

    task: str
    lore: Mapping[str, str]
    past: Sequence[Past]
    view: View
    vitals: Mapping[str, int]
    items: Mapping[str, int]
    actions: Sequence[str]
    is_direct: bool

    @property
    def number(self) -> int:
        """Return the number of the step to be chosen."""
        return self.past[-1].number + 1 if self.past else 1


def read_prompt(prompt: str) -> ReadPrompt:
    """Return the parts of a prompt; whatever is missing is empty."""
    sections = sections_of(prompt)
    actions = [line.removeprefix("- ") for line in sections.pop("Valid actions", "").splitlines() if line[:2] == "- "]
    task, so_far = sections.pop("Task", ""), sections.pop("Episode so far", "")
    observation = sections.pop("Observation", "")
    return ReadPrompt(
        task=task,
        lore=sections,
        past=_past(so_far),
        view=_view(observation),
        vitals={name: int(amount) for name, amount in _VITAL.findall(observation)},
        items={name: int(amount) for name, amount in _ITEM.findall(observation)},
        actions=actions,
        is_direct="without reasoning" in prompt[prompt.rfind("## Valid actions") :].lower(),
    )


def things_in(observation: str) -> View:
    """Return what an observation that is told of shows."""
    return _view(observation)


def _view(text: str) -> View:
    faced = _FACED.search(text)
    things = {name: Seen(int(steps), tuple(where.split("-"))) for name, steps, where in _THING.findall(text)}
    return View(things, faced.group(1) if faced else "", _ASLEEP in text)


def _past(text: str) -> list[Past]:
    begins = list(_ENTRY.finditer(text))
    ends = [*(found.start() for found in begins[1:]), len(text)]
    past = []
    for found, end in zip(begins, ends, strict=False):  # without a step there is an end and no beginning
        told = text[found.end() : end]
        done = _ACTION.findall(told)
        past.append(Past(int(found.group(1)), _view(told), done[-1] if done else ""))
    return past
