"""From a goal to the next action: backwards through what is believed, and trying things out where nothing is.

Rules
    - A belief that this episode has refuted is dropped: a material that is not where it should be, a recipe whose
      parts are all at hand and that still does nothing.
    - Where amounts are not told, one of each part is tried first, and one more of each after every failure.
    - Trying out follows a hash of the prompt: no two prompts need choose alike, and one prompt always chooses the same.
"""

from __future__ import annotations

import hashlib
from collections import Counter

from mage_es.engine.models.apprentice.episode import Episode
from mage_es.engine.models.apprentice.lore import Recipe, heard
from mage_es.engine.models.apprentice.prompt_reading import ReadPrompt, things_of

HAD = ""
"""Stands for an action where a thing is had already."""
_MOST_CARRIED = 3
"""When trying things out, no more of one material is collected."""
_DEEPEST = 12
"""Steps backwards from a goal, at most: beliefs of mixed origin may go round in a circle."""


class Planner:
    """One choice of an action."""

    def __init__(self, read: ReadPrompt, *, dice: str) -> None:
        self._read, self._dice = read, dice
        self._told, self._shown = heard(read.lore, read.steps)
        self._episode = Episode(read.steps, read.moment)
        self._things = things_of(read.actions)
        self._places = [action.removeprefix("go to ") for action in read.actions if action.startswith("go to ")]

    def choose(self) -> tuple[str, str]:
        """Return the next action and the reason for it in a few words."""
        goal = self._read.goal
        if goal:
            action = self._toward(goal, self._read.amount)
            return (self._gathering(goal, action), f"for the {goal}") if action else (self.attempt(), "trying things")
        for thing in self._not_had():
            action = self._toward(thing, 1)
            if action:
                return self._gathering(thing, action), f"for the {thing}"
        return self.attempt(), "trying things"

    def attempt(self) -> str:
        """Return an action to try: what is in sight, what was never tried with what is carried, where one never was."""
        new_places = [f"go to {place}" for place in self._places if place not in self._episode.seen]
        here = [
            f"collect {thing}"
            for thing in self._read.moment.seen
            if self._episode.carries(thing) < _MOST_CARRIED and not self._episode.is_stale(f"collect {thing}")
        ]
        makings = [
            action
            for thing, action in self._things.items()
            if not action.startswith("collect") and thing not in self._read.moment.built
        ]
        untried = [action for action in makings if not self._episode.is_stale(action)] if self._carries_any() else []
        old_places = [f"go to {place}" for place in self._places if place != self._read.moment.place]
        options = [action for action in (*new_places, *here, *untried) if action in self._read.actions]
        return self._pick(options or old_places or list(self._read.actions))

    # ------------------------------------------------------------ backwards from a thing

    def _toward(self, thing: str, count: int, depth: int = 0) -> str | None:
        """Return the next action towards having a thing, HAD if it is had, None where nothing is known to do."""
        if thing in self._episode.built or self._episode.carries(thing) >= count:
            return HAD
        action = self._things.get(thing)
        if action is None or depth > _DEEPEST:
            return None
        if action.startswith("collect"):
            return self._toward_material(thing, action, depth)
        return self._toward_made(thing, action, depth)

    def _toward_material(self, material: str, action: str, depth: int) -> str | None:
        told = self._shown.tool(material)
        tool = self._told.tool(material) if told is None else told
        if tool:
            first = self._toward(tool, 1, depth + 1)
            if first != HAD:
                return first
        if material in self._read.moment.seen:
            return action if not self._episode.is_stale(action) else None
        seen = [place for place, things in self._episode.seen.items() if material in things]
        believed = [place for place in self._told.places(material) if place not in self._episode.seen]
        unvisited = [place for place in self._places if place not in self._episode.seen]
        if not (seen or believed or unvisited):
            return None
        return f"go to {[*seen, *believed][0] if seen or believed else self._pick(unvisited)}"

    def _toward_made(self, thing: str, action: str, depth: int) -> str | None:
        recipe = self._recipe(thing)
        if recipe is None:
            return None
        more = 0 if recipe.exact else self._episode.failures[action]
        for part, amount in sorted(recipe.takes, key=lambda item: self._things.get(item[0], "").startswith("collect")):
            first = self._toward(part, amount + more, depth + 1)
            if first != HAD:
                return first
        if recipe.station:
            first = self._toward(recipe.station, 1, depth + 1)
            if first != HAD:
                return first
            place = self._episode.built[recipe.station]
            if place != self._read.moment.place:
                return f"go to {place}"
        return None if self._episode.is_stale(action) else action

    def _recipe(self, thing: str) -> Recipe | None:
        return self._shown.recipe(thing) or self._told.recipe(thing)

    # ------------------------------------------------------------ on the way

    def _gathering(self, goal: str, action: str) -> str:
        """Return the action, unless something that will be needed lies here and one is about to leave it."""
        if not action.startswith("go to "):
            return action
        wanted: Counter[str] = Counter()
        self._count(goal, self._read.amount if goal == self._read.goal else 1, wanted)
        for material in sorted(self._read.moment.seen):
            collect = f"collect {material}"
            tool = self._told.tool(material)
            lacks = wanted[material] > self._episode.carries(material)
            if lacks and (not tool or self._episode.carries(tool)) and not self._episode.is_stale(collect):
                return collect
        return action

    def _count(self, thing: str, count: int, wanted: Counter[str], depth: int = 0) -> None:
        """Add up what a thing takes in all, as far as that is told; what is carried is not counted off."""
        wanted[thing] += count
        recipe = self._recipe(thing)
        is_had = thing in self._episode.built or self._episode.carries(thing) >= wanted[thing]
        if is_had or depth > _DEEPEST:
            return
        tool = self._told.tool(thing)
        if tool and not self._episode.carries(tool) and not wanted[tool]:
            self._count(tool, 1, wanted, depth + 1)
        if recipe is None:
            return
        if recipe.station and recipe.station not in self._episode.built and not wanted[recipe.station]:
            self._count(recipe.station, 1, wanted, depth + 1)
        for part, amount in recipe.takes:
            self._count(part, amount * count, wanted, depth + 1)

    def _not_had(self) -> list[str]:
        """Return the things not had yet, those for which least has to be done first."""
        missing = [
            thing
            for thing in self._things
            if thing not in self._episode.had
            and thing not in self._episode.built
            and not self._episode.carries(thing)
            and (self._things[thing].startswith("collect") or self._recipe(thing))
        ]

        def effort(thing: str) -> tuple[int, str]:
            wanted: Counter[str] = Counter()
            self._count(thing, 1, wanted)
            return sum(max(0, n - self._episode.carries(name)) for name, n in wanted.items()), thing

        return sorted(missing, key=effort)

    def _carries_any(self) -> bool:
        return any(self._read.moment.carried.values())

    def _pick(self, options: list[str]) -> str:
        """Return one of the options by the hash of the prompt."""
        digest = hashlib.sha256(f"{self._dice}\x00{'|'.join(sorted(options))}".encode()).digest()
        return sorted(options)[int.from_bytes(digest[:8], "big") % len(options)] if options else ""
