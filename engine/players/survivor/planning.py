"""The survivor: from the nearest achievement back to the next action, through what it takes.

The prompt does not list what was achieved. It is inferred from items, the view and the last steps; achievements that
leave no trace are tried only early in an episode. It knows how observations are worded and how to walk, but not what
anything is good for. At a temperature above 0 that share of its actions is a trial.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import partial
from typing import NamedTuple

from mage_es.engine.players.prompts import StepPrompt
from mage_es.engine.players.stand_in import StandIn, count_words, episode_reply
from mage_es.engine.players.survivor.rulebook import Belief, Rulebook
from mage_es.engine.players.survivor.walking import DIRECTIONS, Walker, situation_in

_LOW, _TOPPED_UP = 3, 6
"""Levels of vitals below which it looks for more, or takes more in passing."""
_EARLY = 120
"""How many steps it tries achievements for that leave no trace."""
_NEARBY = 4
"""How many steps away something may be to be taken in passing."""
_FAR, _RARE, _DEEPEST = 40, 8, 6
_MOST = 9
"""Most of an item that can be carried."""
_HEALTHY = 4
"""The least health with which it begins a fight."""


def _choose(prompt: StepPrompt, dice: str, is_trial: bool) -> tuple[str, str]:
    if not all(f"Move {way.title()}" in prompt.actions for way in DIRECTIONS):
        return prompt.actions[0], "there is nowhere to go"
    planner = SurvivalPlanner(prompt, dice=dice)
    return (planner.attempt(), "trying things") if is_trial else planner.choose()


reply = episode_reply(_choose, mark="ACTION")
Survivor = partial(StandIn, "builtin/survivor", reply, count_words)


class Way(NamedTuple):
    """The next action toward something, roughly how many steps that takes, and what it is for."""

    cost: int
    action: str
    reason: str


class SurvivalPlanner:
    def __init__(self, prompt: StepPrompt, *, dice: str) -> None:
        self._now, self._dice = situation_in(prompt), dice
        self._rules = Rulebook(prompt.told, prompt.actions)
        self._walker = Walker(self._now, self._rules)
        self._done = self._evident()
        self._stale = self._in_vain()

    def choose(self) -> tuple[str, str]:
        if self._now.view.is_asleep:
            return self._now.actions[0], "asleep"
        ways = self._urgent() or [*self._fights(), *self._goals(), *self._in_passing()]
        if not ways:
            return self.attempt(), "trying things"
        best = min(ways, key=lambda way: way.cost)
        return best.action, best.reason

    def attempt(self) -> str:
        roll = self._roll(8)
        faced = self._now.view.faced
        if faced and faced not in self._stale and (roll < 2 or not self._walker.is_open(faced)):
            return "Do" if "Do" in self._now.actions else self._any()
        return self._any() if roll == 7 else self._walker.wander()

    # ------------------------------------------------------------ what is wanted

    def _urgent(self) -> list[Way]:
        low = [name for name, amount in self._now.vitals.items() if amount <= _LOW]
        found = [(self._now.vitals[name], way) for name in low for way in self._all_giving(name)]
        return [way for _, way in sorted(found, key=lambda pair: (pair[0], pair[1].cost))[:1]]

    def _fights(self) -> list[Way]:
        near = {name for name, seen in self._now.view.things.items() if seen.distance <= 2} | {self._now.view.faced}
        fighting = [rule for rule in self._rules.rules.values() if rule.is_fight and not rule.gives]
        if self._now.vitals.get("health", 0) < _HEALTHY:
            return []
        return [way for rule in fighting if near & set(rule.facing) and (way := self._toward(rule))]

    def _goals(self) -> list[Way]:
        ways = []
        for rule in self._rules.rules.values():
            if rule.name in self._done or rule.is_fight or any(name in self._now.vitals for name in rule.gives):
                continue
            if rule.is_rare and self._now.number > _EARLY:
                continue
            way = self._toward(rule)
            if way:
                ways.append(way._replace(cost=way.cost + _RARE * rule.is_rare))
        return [*ways, *self._rest()]

    def _rest(self) -> list[Way]:
        if self._now.number > _EARLY:
            return []
        waiting = [rule for rule in self._rules.rules.values() if rule.below]
        due = [rule for rule in waiting if rule.below and self._now.vitals.get(rule.below[0], 9) < rule.below[1]]
        return [way for rule in due if rule.name not in self._done and (way := self._toward(rule))]

    def _in_passing(self) -> list[Way]:
        wanted = self._demand()
        found = []
        for rule in self._rules.rules.values():
            distances = [seen.distance for name, seen in self._now.view.things.items() if name in rule.facing]
            if rule.is_rare or min(distances, default=_FAR) > _NEARBY:
                continue
            for item in rule.gives:
                level = self._now.vitals.get(item)
                lacks = level <= _TOPPED_UP if level is not None else self._has(item) < wanted[item]
                way = self._toward(rule) if lacks else None
                if way:
                    found.append(way)
        return found

    def _demand(self) -> Counter[str]:
        wanted: Counter[str] = Counter()
        for rule in self._rules.rules.values():
            if rule.name not in self._done:
                wanted.update(rule.takes)
                for station in rule.near:
                    for built in self._rules.giving(station)[:1]:
                        for item, amount in built.takes.items():
                            wanted[item] = max(wanted[item], amount + rule.takes.get(item, 0))
        return Counter({item: min(_MOST, amount) for item, amount in wanted.items()})

    # ------------------------------------------------------------ backwards from a rule

    def _toward(self, rule: Belief, depth: int = 0) -> Way | None:
        if depth > _DEEPEST or (rule.below and self._now.vitals.get(rule.below[0], 0) >= rule.below[1]):
            return None
        for item, amount in {**rule.takes, **rule.needs}.items():
            if self._has(item) < amount:
                return self._first(self._all_giving(item, depth + 1), 5 * (amount - self._has(item)), rule)
        for station in rule.near:
            seen = self._now.view.things.get(station)
            if seen is None or seen.distance > 2 * _NEARBY:
                return self._first(self._all_giving(station, depth + 1), 5, rule)
            if not seen.is_beside:
                return Way(seen.distance, self._walker.toward(seen), f"for {rule.name}")
        if not rule.facing or self._now.view.faced in rule.facing:
            return Way(1, rule.action, f"for {rule.name}") if self._now.view.faced not in self._stale else None
        return self._approach(rule)

    def _approach(self, rule: Belief) -> Way:
        wanted = set(rule.facing) - self._rules.deadly  # a step toward an adjacent thing may lead onto it
        in_sight = [seen for name, seen in self._now.view.things.items() if name in wanted]
        if not in_sight:
            return Way(_FAR, self._walker.wander(), f"looking for {rule.name}")
        nearest = min(in_sight, key=lambda seen: seen.distance)
        return Way(1 + nearest.distance, self._walker.toward(nearest), f"for {rule.name}")

    def _all_giving(self, wanted: str, depth: int = 0) -> list[Way]:
        ways = [self._toward(rule, depth) for rule in self._rules.giving(wanted)]
        return [way for way in ways if way]

    def _first(self, ways: list[Way], more: int, rule: Belief) -> Way | None:
        if not ways:
            return None
        best = min(ways, key=lambda way: way.cost)
        return Way(best.cost + more, best.action, f"{best.reason}, toward {rule.name}")

    # ------------------------------------------------------------ what is known of this episode

    def _evident(self) -> set[str]:
        """Return the names of rules whose result shows: owned, in sight, done lately, or needed for one of those."""
        shown = {*self._now.items, *self._now.view.things}
        for past in self._now.past:
            shown |= set(past.view.things)
        waiting = [rule for rule in self._rules.rules.values() if self._shows(rule, shown)]
        done: set[str] = set()
        while waiting:
            rule = waiting.pop()
            if rule.name not in done:
                done.add(rule.name)
                parts = (*rule.takes, *rule.needs, *rule.near)
                waiting += [other for part in parts for other in self._rules.giving(part)]
        return done

    def _shows(self, rule: Belief, shown: set[str]) -> bool:
        lasting = [name for name in rule.gives if name not in self._now.vitals]
        lately = {past.action for past in self._now.past}
        acted = bool(rule.action in lately and (not rule.facing or rule.action != "Do"))
        return any(name in shown for name in lasting) or (acted and not lasting)

    def _in_vain(self) -> set[str]:
        """Return what is still in front although it was used twice in the last steps."""
        used = [past.view.faced for past in self._now.past[-3:] if past.action == "Do"]
        faced = self._now.view.faced
        patient = {name for rule in self._rules.rules.values() if rule.is_rare or rule.is_fight for name in rule.facing}
        filling = {
            name
            for rule in self._rules.rules.values()
            for name in rule.facing
            if any(0 <= self._now.vitals.get(vital, _MOST) < _MOST for vital in rule.gives)
        }
        return {faced} - patient - filling if used.count(faced) >= 2 else set()

    def _has(self, item: str) -> int:
        return self._now.items.get(item, 0)

    def _any(self) -> str:
        return self._now.actions[self._roll(len(self._now.actions), "any")]

    def _roll(self, sides: int, what: str = "") -> int:
        digest = hashlib.sha256(f"{self._dice}\x00{what}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % sides
