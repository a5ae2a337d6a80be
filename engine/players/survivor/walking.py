"""The situation in a survival prompt, and walking by sight: toward a thing, around obstacles, and onward without a
destination.

Without a destination, a direction is kept for some steps and then drawn anew from a hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.players.prompts import StepPrompt
from mage_es.engine.players.survivor.rulebook import Rulebook

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
    """With the view before the step."""

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
    for found, end in zip(begins, ends, strict=False):  # without an entry there is one end, and no beginning
        told = text[found.end() : end]
        done = _ACTION.findall(told)
        past.append(Past(int(found.group(1)), view_in(told), done[-1] if done else ""))
    return past


DIRECTIONS = ("north", "east", "south", "west")
_STRIDE, _AROUND = 12, 4
"""Steps for which a direction is kept when wandering, and when walking around an obstacle."""


class Walker:
    def __init__(self, now: SurvivalSituation, rules: Rulebook) -> None:
        self._now, self._rules = now, rules
        self._moves = {action.rpartition(" ")[2].lower(): action for action in now.actions if action[:5] == "Move "}
        self._met = self._obstacles()
        self._shut = self._closed_directions()

    def toward(self, seen: Seen) -> str:
        if seen.distance == 1:
            return self._moves[seen.directions[0]]
        ways = [way for way in self._ordered(seen.directions) if way not in self._shut]
        if ways and not self._goes_round():
            return self._moves[ways[0]]
        return self._drift(_AROUND, avoid=seen.directions)

    def wander(self) -> str:
        return self._drift(_STRIDE, avoid=())

    def is_open(self, thing: str) -> bool:
        if self._rules.walkable:
            return thing in self._rules.walkable
        return thing not in self._met

    def _drift(self, steps: int, *, avoid: Sequence[str]) -> str:
        order = self._drawn(DIRECTIONS, self._now.number // steps)
        free = [way for way in order if way not in self._shut and way not in avoid]
        free = free or [way for way in order if way not in self._shut] or order
        return self._moves[free[0]]

    def _ordered(self, directions: Sequence[str]) -> list[str]:
        """The direction taken last comes first: keeping to it gets one around corners."""
        taken = self._last_direction()
        drawn = self._drawn(directions, self._now.number // 3)
        return sorted(drawn, key=lambda way: way != taken)

    def _last_direction(self) -> str:
        moves = [past.action for past in self._now.past if past.action in self._moves.values()]
        return moves[-1].rpartition(" ")[2].lower() if moves else ""

    def _goes_round(self) -> bool:
        last = [past.action for past in self._now.past[-6:]]
        return len(last) == 6 and len(set(last)) == 2 and last[:2] == last[2:4] == last[4:] and last[0][:4] == "Move"

    def _closed_directions(self) -> frozenset[str]:
        view = self._now.view
        shut = {
            seen.directions[0] for name, seen in view.things.items() if seen.distance == 1 and not self.is_open(name)
        }
        if view.faced and not self.is_open(view.faced):
            shut.add(self._last_direction() or "south")
        return frozenset(shut)

    def _obstacles(self) -> frozenset[str]:
        views = [*(past.view for past in self._now.past[1:]), self._now.view]
        pairs = zip(self._now.past, views, strict=True) if self._now.past else ()
        return frozenset(
            after.faced
            for past, after in pairs
            if past.action in self._moves.values() and past.view.things == after.things
        )

    def _drawn(self, options: Sequence[str], turn: int) -> list[str]:

        def lot(option: str) -> bytes:
            return hashlib.sha256(f"{self._now.task}\x00{turn}\x00{option}".encode()).digest()

        return sorted(options, key=lot)
