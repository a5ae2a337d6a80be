"""From what is believed to the next action: the achievement that is nearest, backwards through what it takes.

Rules
    - What was achieved is not told. It is inferred from what one has, what stands in sight and the last steps; what
      leaves no trace is tried early in an episode only.
    - Needs come before achievements: what runs low is looked for, what is at hand is taken in passing.
    - Where nothing is believed, things in front are tried out, now and then another action; else one walks on.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import NamedTuple

from mage_es.engine.models.survivor.lore import Lore, Rule
from mage_es.engine.models.survivor.prompt_reading import ReadPrompt
from mage_es.engine.models.survivor.walking import Walker

_LOW, _TOPPED_UP = 3, 6
"""Vitals at which one looks for more, and takes more in passing."""
_EARLY = 120
"""Steps in which something without a trace is tried."""
_NEARBY = 4
"""Steps away at which something is taken in passing."""
_FAR, _RARE, _DEEPEST = 40, 8, 6
_MOST = 9
"""No more of an item can be carried."""
_HEALTHY = 4
"""Least health to begin a fight with."""


class Way(NamedTuple):
    """The next action toward something, about how many steps it takes, and what it is for."""

    cost: int
    action: str
    reason: str


class Planner:
    """One choice of an action."""

    def __init__(self, read: ReadPrompt, *, dice: str) -> None:
        self._read, self._dice = read, dice
        self._lore = Lore(read.lore, read.actions)
        self._walker = Walker(read, self._lore)
        self._done = self._evident()
        self._stale = self._in_vain()

    def choose(self) -> tuple[str, str]:
        """Return the next action and the reason for it in a few words."""
        if self._read.view.is_asleep:
            return self._read.actions[0], "asleep"
        ways = self._urgent() or [*self._fights(), *self._goals(), *self._in_passing()]
        if not ways:
            return self.attempt(), "trying things"
        best = min(ways, key=lambda way: way.cost)
        return best.action, best.reason

    def attempt(self) -> str:
        """Return an action to try: something in front, now and then anything, else a step on."""
        roll = self._roll(8)
        faced = self._read.view.faced
        if faced and faced not in self._stale and (roll < 2 or not self._walker.is_open(faced)):
            return "Do" if "Do" in self._read.actions else self._any()
        return self._any() if roll == 7 else self._walker.wander()

    # ------------------------------------------------------------ what is wanted

    def _urgent(self) -> list[Way]:
        """Return ways to what runs low."""
        low = [name for name, amount in self._read.vitals.items() if amount <= _LOW]
        found = [(self._read.vitals[name], way) for name in low for way in self._all_giving(name)]
        return [way for _, way in sorted(found, key=lambda pair: (pair[0], pair[1].cost))[:1]]

    def _fights(self) -> list[Way]:
        """Return ways to fights that come to oneself."""
        near = {name for name, seen in self._read.view.things.items() if seen.distance <= 2} | {self._read.view.faced}
        fighting = [rule for rule in self._lore.rules.values() if rule.is_fight and not rule.gives]
        if self._read.vitals.get("health", 0) < _HEALTHY:
            return []
        return [way for rule in fighting if near & set(rule.facing) and (way := self._toward(rule))]

    def _goals(self) -> list[Way]:
        """Return ways to achievements that nothing shows to be reached."""
        ways = []
        for rule in self._lore.rules.values():
            if rule.name in self._done or rule.is_fight or any(name in self._read.vitals for name in rule.gives):
                continue
            if rule.is_rare and self._read.number > _EARLY:
                continue
            way = self._toward(rule)
            if way:
                ways.append(way._replace(cost=way.cost + _RARE * rule.is_rare))
        return [*ways, *self._rest()]

    def _rest(self) -> list[Way]:
        """Return ways to rules that wait for a vital to fall, in the first steps where that is short."""
        if self._read.number > _EARLY:
            return []
        waiting = [rule for rule in self._lore.rules.values() if rule.below]
        due = [rule for rule in waiting if rule.below and self._read.vitals.get(rule.below[0], 9) < rule.below[1]]
        return [way for rule in due if rule.name not in self._done and (way := self._toward(rule))]

    def _in_passing(self) -> list[Way]:
        """Return ways to things at hand: what later achievements take, and what tops up a vital."""
        wanted = self._demand()
        found = []
        for rule in self._lore.rules.values():
            at_hand = [seen.distance for name, seen in self._read.view.things.items() if name in rule.facing]
            if rule.is_rare or min(at_hand, default=_FAR) > _NEARBY:
                continue
            for item in rule.gives:
                level = self._read.vitals.get(item)
                lacks = level <= _TOPPED_UP if level is not None else self._has(item) < wanted[item]
                way = self._toward(rule) if lacks else None
                if way:
                    found.append(way)
        return found

    def _demand(self) -> Counter[str]:
        """Return how much of each item the achievements that are open take in all."""
        wanted: Counter[str] = Counter()
        for rule in self._lore.rules.values():
            if rule.name not in self._done:
                wanted.update(rule.takes)
                for station in rule.near:
                    for built in self._lore.giving(station)[:1]:
                        for item, amount in built.takes.items():
                            wanted[item] = max(wanted[item], amount + rule.takes.get(item, 0))
        return Counter({item: min(_MOST, amount) for item, amount in wanted.items()})

    # ------------------------------------------------------------ backwards from a rule

    def _toward(self, rule: Rule, depth: int = 0) -> Way | None:
        """Return the next action toward what a rule brings about; None where nothing is known to do."""
        if depth > _DEEPEST or (rule.below and self._read.vitals.get(rule.below[0], 0) >= rule.below[1]):
            return None
        for item, amount in {**rule.takes, **rule.needs}.items():
            if self._has(item) < amount:
                return self._first(self._all_giving(item, depth + 1), 5 * (amount - self._has(item)), rule)
        for station in rule.near:
            seen = self._read.view.things.get(station)
            if seen is None or seen.distance > 2 * _NEARBY:
                return self._first(self._all_giving(station, depth + 1), 5, rule)
            if not seen.is_beside:
                return Way(seen.distance, self._walker.toward(seen), f"for {rule.name}")
        if not rule.facing or self._read.view.faced in rule.facing:
            return Way(1, rule.action, f"for {rule.name}") if self._read.view.faced not in self._stale else None
        return self._approach(rule)

    def _approach(self, rule: Rule) -> Way:
        """Return a step toward the nearest thing that a rule is about; where none is in sight, a step on."""
        wanted = set(rule.facing) - self._lore.deadly  # a step toward what is beside one may lead onto it
        in_sight = [seen for name, seen in self._read.view.things.items() if name in wanted]
        if not in_sight:
            return Way(_FAR, self._walker.wander(), f"looking for {rule.name}")
        nearest = min(in_sight, key=lambda seen: seen.distance)
        return Way(1 + nearest.distance, self._walker.toward(nearest), f"for {rule.name}")

    def _all_giving(self, wanted: str, depth: int = 0) -> list[Way]:
        ways = [self._toward(rule, depth) for rule in self._lore.giving(wanted)]
        return [way for way in ways if way]

    def _first(self, ways: list[Way], more: int, rule: Rule) -> Way | None:
        if not ways:
            return None
        best = min(ways, key=lambda way: way.cost)
        return Way(best.cost + more, best.action, f"{best.reason}, toward {rule.name}")

    # ------------------------------------------------------------ what is known of this episode

    def _evident(self) -> set[str]:
        """Return the names of rules whose result shows: owned, in sight, done lately, or needed for such."""
        shown = {*self._read.items, *self._read.view.things}
        for past in self._read.past:
            shown |= set(past.view.things)
        waiting = [rule for rule in self._lore.rules.values() if self._shows(rule, shown)]
        done: set[str] = set()
        while waiting:
            rule = waiting.pop()
            if rule.name not in done:
                done.add(rule.name)
                parts = (*rule.takes, *rule.needs, *rule.near)
                waiting += [other for part in parts for other in self._lore.giving(part)]
        return done

    def _shows(self, rule: Rule, shown: set[str]) -> bool:
        lasting = [name for name in rule.gives if name not in self._read.vitals]
        lately = {past.action for past in self._read.past}
        acted = bool(rule.action in lately and (not rule.facing or rule.action != "Do"))
        return any(name in shown for name in lasting) or (acted and not lasting)

    def _in_vain(self) -> set[str]:
        """Return the things that were used twice in the last steps and are still in front, though nothing moved."""
        used = [past.view.faced for past in self._read.past[-3:] if past.action == "Do"]
        faced = self._read.view.faced
        patient = {name for rule in self._lore.rules.values() if rule.is_rare or rule.is_fight for name in rule.facing}
        filling = {
            name
            for rule in self._lore.rules.values()
            for name in rule.facing
            if any(0 <= self._read.vitals.get(vital, _MOST) < _MOST for vital in rule.gives)
        }
        return {faced} - patient - filling if used.count(faced) >= 2 else set()

    def _has(self, item: str) -> int:
        return self._read.items.get(item, 0)

    def _any(self) -> str:
        """Return any action, by the hash of the prompt."""
        return self._read.actions[self._roll(len(self._read.actions), "any")]

    def _roll(self, sides: int, what: str = "") -> int:
        digest = hashlib.sha256(f"{self._dice}\x00{what}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % sides
