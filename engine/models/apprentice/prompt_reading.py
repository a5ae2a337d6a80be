"""The parts of a step prompt: the goal, what is told of earlier episodes, this episode so far, the moment, the choices.

Rules
    - Lines quoted with `> ` are data and never headings.
    - What things there are is read off the valid actions; no thing or place is known by name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.models.players import sections_of

VERBS = ("collect", "build", "make")
"""What can be done with things; `go to` leads to places."""
_SITUATION = re.compile(r"\b(?:carrying|where)\b[^.;]*", re.IGNORECASE)
_AMOUNT = re.compile(r"(\d+) ([a-z]+)")
_STANDS = re.compile(r"\bthe ([a-z]+) stands at the ([a-z]+)", re.IGNORECASE)
_AT = re.compile(r"\byou are at the ([a-z]+)", re.IGNORECASE)
_SEEN = re.compile(r"\byou see ([a-z ,]+?) here", re.IGNORECASE)
_CARRIED = re.compile(r"\byou carry ([^.]*)", re.IGNORECASE)
_STEP = re.compile(r"^(?:\d+\. )?([a-z ()]+?)(?:: (.*))?$", re.IGNORECASE)


class Step(NamedTuple):
    """An earlier step of the episode: the action, and what the environment said to it."""

    action: str
    effect: str


class Moment(NamedTuple):
    """Where one is, what is in sight, what one carries, and which station stands where."""

    place: str
    seen: frozenset[str]
    carried: Counter[str]
    built: Mapping[str, str]


class ReadPrompt(NamedTuple):
    """What a step prompt says. `goal` is "" where no one thing is asked for; `lore` is all that is told beforehand."""

    goal: str
    amount: int
    lore: str
    steps: Sequence[Step]
    moment: Moment
    actions: Sequence[str]
    is_direct: bool


def read_prompt(prompt: str) -> ReadPrompt:
    """Return the parts of a prompt; whatever is missing is empty."""
    sections = sections_of(prompt)
    actions = [line.removeprefix("- ") for line in sections.pop("Valid actions", "").splitlines() if line[:2] == "- "]
    task, so_far = sections.pop("Task", ""), sections.pop("Episode so far", "")
    moment = _moment(sections.pop("Observation", ""))
    goal, amount = _goal(task, things_of(actions))
    return ReadPrompt(
        goal=goal,
        amount=amount,
        lore="\n".join(sections.values()),
        steps=[Step(m.group(1), m.group(2) or "") for line in so_far.splitlines() if (m := _STEP.match(line))],
        moment=moment,
        actions=actions,
        is_direct="without reasoning" in prompt[prompt.rfind("## Valid actions") :].lower(),
    )


def things_of(actions: Sequence[str]) -> dict[str, str]:
    """Return the things that actions are about, each with the action that gives it."""
    split = [(action, *action.partition(" ")) for action in actions]
    return {name: action for action, verb, _, name in split if verb in VERBS}


def amounts(text: str) -> Counter[str]:
    """Return amounts such as `2 wood and 1 axe` as counts."""
    return Counter({name: int(number) for number, name in _AMOUNT.findall(text)})


def names(text: str) -> list[str]:
    """Return the names in a list such as `wood, clay and ore`."""
    return [name for name in re.split(r", | and ", text) if name and " " not in name]


def _goal(task: str, things: Mapping[str, str]) -> tuple[str, int]:
    told = _SITUATION.sub("", task).lower()
    named = [(found.group(2), int(found.group(1) or 1)) for found in re.finditer(r"(?:(\d+) )?\b([a-z]+)\b", told)]
    return next(((name, count) for name, count in named if name in things), ("", 1))


def _moment(observation: str) -> Moment:
    at, seen, carried = _AT.findall(observation), _SEEN.findall(observation), _CARRIED.findall(observation)
    return Moment(
        place=at[-1] if at else "",
        seen=frozenset(names(seen[-1])) if seen else frozenset(),
        carried=amounts(carried[-1]) if carried else Counter(),
        built={station.lower(): place for station, place in _STANDS.findall(observation)},
    )
