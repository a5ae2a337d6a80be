"""Reference plans: a short way from a situation to a thing, given the land's rules.

Everything still needed is counted first. Then the planner makes what it can, collects what is needed here, and only
then goes to another place. That is within a few steps of the shortest plan.
"""

from collections import Counter
from typing import NamedTuple

from mage_es.engine.players.worlds.workshop.lands import MATERIALS, STATIONS, Land, achievement


class WorkshopSituation(NamedTuple):
    """Amounts are above 0."""

    place: str
    carried: dict[str, int]
    built: dict[str, str]


def short_plan(rules: Land, start: WorkshopSituation, goal: str, count: int = 1) -> list[str]:
    """Return the actions that lead from a situation to carrying `count` of a thing (or to a built station)."""
    return _Planner(rules, start).plan(goal, count)


class _Planner:
    def __init__(self, rules: Land, start: WorkshopSituation) -> None:
        self._rules = rules
        self._place = start.place
        self._carried = Counter(start.carried)
        self._built = dict(start.built)
        self._making: Counter[str] = Counter()
        """Goods and stations still to be made."""
        self._used: Counter[str] = Counter()
        """How much of each thing the goal and the things still to be made will take."""
        self._tools: set[str] = set()
        self._actions: list[str] = []

    def plan(self, goal: str, count: int) -> list[str]:
        if goal in STATIONS:
            self._require_station(goal)
        else:
            self._require(goal, count)
        while self._making or self._missing():
            self._advance()
        return self._actions

    def _require(self, thing: str, count: int) -> None:
        self._used[thing] += count
        lacking = self._used[thing] - self._carried[thing] - self._making[thing]
        if lacking <= 0:
            return
        if thing in MATERIALS:
            self._require_tool(self._rules.tools[thing])
        else:
            self._require_made(thing, lacking)

    def _require_made(self, thing: str, count: int) -> None:
        recipe = self._rules.recipes[thing]
        self._making[thing] += count
        for part, amount in recipe.takes.items():
            self._require(part, amount * count)
        if recipe.station:
            self._require_station(recipe.station)

    def _require_tool(self, tool: str) -> None:
        if tool and not self._carried[tool] and tool not in self._tools:
            self._tools.add(tool)
            self._require_made(tool, 1)

    def _require_station(self, station: str) -> None:
        if station not in self._built and not self._making[station]:
            self._require_made(station, 1)

    def _missing(self) -> dict[str, int]:
        return {m: self._used[m] - self._carried[m] for m in MATERIALS if self._used[m] > self._carried[m]}

    def _advance(self) -> None:
        for thing in sorted(self._making):
            if self._can_make(thing) and self._stands_here(thing):
                return self._make(thing)
        missing = [material for material in self._missing() if self._can_collect(material)]
        for material in missing:
            if self._rules.found_at[material] == self._place:
                self._carried[material] += 1
                return self._actions.append(achievement(material))
        ready = [self._built[self._rules.recipes[t].station] for t in sorted(self._making) if self._can_make(t)]
        self._place = [*ready, *(self._rules.found_at[material] for material in missing)][0]
        self._actions.append(f"go to {self._place}")

    def _can_collect(self, material: str) -> bool:
        tool = self._rules.tools[material]
        return not tool or self._carried[tool] > 0

    def _can_make(self, thing: str) -> bool:
        recipe = self._rules.recipes[thing]
        has_station = not recipe.station or recipe.station in self._built
        return has_station and all(self._carried[part] >= amount for part, amount in recipe.takes.items())

    def _stands_here(self, thing: str) -> bool:
        station = self._rules.recipes[thing].station
        return not station or self._built[station] == self._place

    def _make(self, thing: str) -> None:
        self._actions.append(achievement(thing))
        for part, amount in self._rules.recipes[thing].takes.items():
            self._carried[part] -= amount
            self._used[part] -= amount
        self._making -= Counter({thing: 1})
        if thing in STATIONS:
            self._built[thing] = self._place
        else:
            self._carried[thing] += 1
