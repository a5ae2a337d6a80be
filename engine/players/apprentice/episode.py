"""This episode so far, read from the valid actions: it knows no thing or place by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.players.prompts import PastStep

VERBS = ("collect", "build", "make")
"""What can be done with things; `go to` leads to places."""
MOVING = "go to "
_SITUATION = re.compile(r"\b(?:carrying|where)\b[^.;]*", re.IGNORECASE)
_AMOUNT = re.compile(r"(\d+) ([a-z]+)")
_COUNTED = re.compile(r"(?:(\d+) )?\b([a-z]+)\b")
_BUILT = re.compile(r"\bthe ([a-z]+) stands at the ([a-z]+)", re.IGNORECASE)
_AT = re.compile(r"\byou are at the ([a-z]+)", re.IGNORECASE)
_SEEN = re.compile(r"\byou see ([a-z ,]+?) here", re.IGNORECASE)
_CARRIED = re.compile(r"\byou carry ([^.]*)", re.IGNORECASE)
_SEEN_AFTER = re.compile(r"you see ([a-z ,]+?) here")
_GAINED = re.compile(r"^you (?:collect|build|make)\b")
_STEP = re.compile(r"^(?:\d+\. )?([a-z ()]+?)(?:: (.*))?$", re.IGNORECASE)


class Surroundings(NamedTuple):
    place: str
    seen: frozenset[str]
    carried: Counter[str]
    built: Mapping[str, str]


class Episode:
    def __init__(self, steps: Sequence[PastStep], here: Surroundings) -> None:
        self.here = here
        self.seen: dict[str, frozenset[str]] = {}
        """What was in sight at each place visited."""
        self.had: set[str] = set()
        self.failures: Counter[str] = Counter()
        self._stale: set[tuple[str, str]] = set()
        place = "" if any(step.action.startswith(MOVING) for step in steps) else here.place
        for step in steps:
            place = self._note(step, place)
        self.seen[here.place] = here.seen

    def _note(self, step: PastStep, place: str) -> str:
        effect = step.effect.lower()
        if step.action.startswith(MOVING):
            place = step.action.removeprefix(MOVING)
            found = _SEEN_AFTER.search(effect)
            self.seen[place] = frozenset(names(found.group(1))) if found else frozenset()
        elif _GAINED.match(effect):
            self.had.add(step.action.rpartition(" ")[2])
            self._stale.clear()  # with something new in hand, an action that did nothing before may work
        else:
            self.failures[step.action] += 1
            self._stale.add((step.action, place))
        return place

    def is_stale(self, action: str) -> bool:
        return (action, self.here.place) in self._stale


def steps_in(text: str) -> list[PastStep]:
    return [PastStep(m.group(1), m.group(2) or "") for line in text.splitlines() if (m := _STEP.match(line))]


def surroundings_in(observation: str) -> Surroundings:
    at, seen, carried = _AT.findall(observation), _SEEN.findall(observation), _CARRIED.findall(observation)
    return Surroundings(
        place=at[-1] if at else "",
        seen=frozenset(names(seen[-1])) if seen else frozenset(),
        carried=amounts(carried[-1]) if carried else Counter(),
        built={station.lower(): place for station, place in _BUILT.findall(observation)},
    )


def goal_of(task: str, things: Mapping[str, str]) -> tuple[str, int]:
    """Return "" if the task does not ask for a thing."""
    told = _SITUATION.sub("", task).lower()
    named = [(name, int(amount or 1)) for amount, name in _COUNTED.findall(told)]
    return next(((name, amount) for name, amount in named if name in things), ("", 1))


def things_of(actions: Sequence[str]) -> dict[str, str]:
    split = [(action, *action.partition(" ")) for action in actions]
    return {name: action for action, verb, _, name in split if verb in VERBS}


def amounts(text: str) -> Counter[str]:
    return Counter({name: int(number) for number, name in _AMOUNT.findall(text)})


def names(text: str) -> list[str]:
    return [name for name in re.split(r", | and ", text) if name and " " not in name]
