"""Walking by sight: toward a thing, around obstacles, and onward when nothing is in sight.

Without a destination, a direction is kept for some steps and then drawn anew from a hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from mage_es.engine.standins.survivor.rulebook import Rulebook
from mage_es.engine.standins.survivor.situation import Seen, SurvivalSituation

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
        """The last one taken first: keeping on gets around corners."""
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
