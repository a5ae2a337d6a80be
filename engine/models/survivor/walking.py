"""Getting about by what is seen: toward a thing, around what is in the way, and on where nothing is in sight.

Rules
    - What is in the way is told (where one may walk), or was met: a step that changed nothing of what is seen.
    - Where there is nothing to go by, a direction is kept for some steps and then drawn anew from a hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from mage_es.engine.models.survivor.lore import Lore
from mage_es.engine.models.survivor.prompt_reading import ReadPrompt, Seen

DIRECTIONS = ("north", "east", "south", "west")
_STRIDE = 12
"""Steps for which a direction is kept when wandering."""
_AROUND = 4
"""Steps for which a way around something is kept."""


class Walker:
    """One choice of where to go."""

    def __init__(self, read: ReadPrompt, lore: Lore) -> None:
        self._read, self._lore = read, lore
        self._moves = {action.rpartition(" ")[2].lower(): action for action in read.actions if action[:5] == "Move "}
        self._met = self._obstacles()
        self._shut = self._closed_directions()

    def toward(self, seen: Seen) -> str:
        """Return a step toward something, or around what is in the way."""
        if seen.distance == 1:
            return self._moves[seen.directions[0]]
        ways = [way for way in self._ordered(seen.directions) if way not in self._shut]
        if ways and not self._goes_round():
            return self._moves[ways[0]]
        return self._drift(_AROUND, avoid=seen.directions)

    def wander(self) -> str:
        """Return a step on."""
        return self._drift(_STRIDE, avoid=())

    def is_open(self, thing: str) -> bool:
        """Return whether a thing is ground to walk on, as far as is known."""
        if self._lore.walkable:
            return thing in self._lore.walkable
        return thing not in self._met

    def _drift(self, steps: int, *, avoid: Sequence[str]) -> str:
        order = self._drawn(DIRECTIONS, self._read.number // steps)
        free = [way for way in order if way not in self._shut and way not in avoid]
        free = free or [way for way in order if way not in self._shut] or order
        return self._moves[free[0]]

    def _ordered(self, directions: Sequence[str]) -> list[str]:
        """Return directions, the one last taken first: keeping on gets around corners."""
        taken = self._last_direction()
        drawn = self._drawn(directions, self._read.number // 3)
        return sorted(drawn, key=lambda way: way != taken)

    def _last_direction(self) -> str:
        moves = [past.action for past in self._read.past if past.action in self._moves.values()]
        return moves[-1].rpartition(" ")[2].lower() if moves else ""

    def _goes_round(self) -> bool:
        """Return whether the last steps went to and fro."""
        last = [past.action for past in self._read.past[-6:]]
        return len(last) == 6 and len(set(last)) == 2 and last[:2] == last[2:4] == last[4:] and last[0][:4] == "Move"

    def _closed_directions(self) -> frozenset[str]:
        """Return the directions in which the next tile is no ground to walk on."""
        view = self._read.view
        shut = {
            seen.directions[0] for name, seen in view.things.items() if seen.distance == 1 and not self.is_open(name)
        }
        if view.faced and not self.is_open(view.faced):
            shut.add(self._last_direction() or "south")
        return frozenset(shut)

    def _obstacles(self) -> frozenset[str]:
        """Return the things that a step ran into: it changed nothing of what is seen."""
        views = [*(past.view for past in self._read.past[1:]), self._read.view]
        pairs = zip(self._read.past, views, strict=True) if self._read.past else ()
        return frozenset(
            after.faced
            for past, after in pairs
            if past.action in self._moves.values() and past.view.things == after.things
        )

    def _drawn(self, options: Sequence[str], turn: int) -> list[str]:
        """Return options in an order drawn by the task and the turn."""

        def lot(option: str) -> bytes:
            return hashlib.sha256(f"{self._read.task}\x00{turn}\x00{option}".encode()).digest()

        return sorted(options, key=lot)
