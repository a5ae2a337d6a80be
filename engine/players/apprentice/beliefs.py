"""Beliefs about the world: where things are found, what they take, which tool they need, and what comes before what.
They come from text alone; if accounts differ, the most frequent one counts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import NamedTuple

from mage_es.engine.players.apprentice.episode import amounts, names

_WALKED = re.compile(r"walk to the ([a-z]+)\. you see ([a-z ,]+?) here")
_COLLECTED = re.compile(r"you collect ([a-z]+)(?: with the ([a-z]+))?\.")
_MADE = re.compile(r"you (?:make|build) the ([a-z]+)(?: at the ([a-z]+))?\. it took ([^.]*)")
_RELATION = re.compile(r"^([a-z]+)(?: \([^)]*\))? (found at|needs|takes|made at) ([a-z]+)", re.MULTILINE)
_ACHIEVED = re.compile(r"^achieved: ([a-z ]+)\n((?:action: [a-z ]+(?:\n|$))+)", re.MULTILINE)
_BEFORE = re.compile(r"`([a-z ]+)` comes before `([a-z ]+)`")


class Ingredients(NamedTuple):
    """Unless `exact`, amounts are unknown: each is at least one."""

    takes: tuple[tuple[str, int], ...]
    station: str
    exact: bool


class Beliefs:
    """Counts of what texts say; every answer is what they say most often."""

    def __init__(self, text: str) -> None:
        self._places: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._tools: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._recipes: defaultdict[str, Counter[Ingredients]] = defaultdict(Counter)
        self._parts: defaultdict[str, set[str]] = defaultdict(set)
        self._stations: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._before: defaultdict[str, set[str]] = defaultdict(set)
        told = text.lower()
        for place, seen in _WALKED.findall(told):
            for name in names(seen):
                self._places[name][place] += 1
        for material, tool in _COLLECTED.findall(told):
            self._tools[material][tool] += 1
        for thing, station, took in _MADE.findall(told):
            self._recipes[thing][Ingredients(tuple(sorted(amounts(took).items())), station, exact=True)] += 1
        for source, label, target in _RELATION.findall(told):
            self._relate(source, label, target)
        for earlier, later in _BEFORE.findall(told):
            self._before[_thing(later)].add(_thing(earlier))
        for achievement, actions in _ACHIEVED.findall(told):
            self._follow(achievement, [line.removeprefix("action: ") for line in actions.splitlines()])

    def _relate(self, source: str, label: str, target: str) -> None:
        if label == "found at":
            self._places[source][target] += 1
        elif label == "needs":
            self._tools[source][target] += 1
        elif label == "made at":
            self._stations[source][target] += 1
        else:
            self._parts[source].add(target)

    def _follow(self, achievement: str, actions: list[str]) -> None:
        """What was collected after a walk is found where it led, and the last action takes it."""
        place = ""
        for action in actions:
            verb, _, name = action.rpartition(" ")
            if verb == "go to":
                place = name
            elif verb == "collect":
                if place:
                    self._places[name][place] += 1
                if action != achievement:
                    self._before[_thing(achievement)].add(name)

    def places(self, material: str) -> list[str]:
        return _ranked(self._places.get(material))

    def tool(self, material: str) -> str | None:
        """Return "" if it needs none, None if no text says."""
        ranked = _ranked(self._tools.get(material))
        return ranked[0] if ranked else None

    def ingredients(self, thing: str) -> Ingredients | None:
        """With amounts if a text gives them; None if no text says anything."""
        told = self._recipes.get(thing)
        if told:
            return max(sorted(told), key=lambda ingredients: told[ingredients])
        parts = self._parts.get(thing) or self._before.get(thing)
        if not parts:
            return None
        stations = _ranked(self._stations.get(thing))
        return Ingredients(tuple((part, 1) for part in sorted(parts)), stations[0] if stations else "", exact=False)


def _ranked(counts: Counter[str] | None) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name)) if counts else []


def _thing(action: str) -> str:
    return action.rpartition(" ")[2]
