"""The apprentice: from a goal back to the next action through its beliefs, or by trial if it has none.

What this episode shows outweighs what texts say. It knows no thing or place by name. Trials follow a hash of the
prompt; at a temperature above 0 that share of its actions is a trial.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import partial

from mage_es.engine.players.apprentice.beliefs import Beliefs, Ingredients
from mage_es.engine.players.apprentice.episode import MOVING, Episode, goal_of, steps_in, surroundings_in, things_of
from mage_es.engine.players.prompts import StepPrompt
from mage_es.engine.players.stand_in import StandIn, count_words, episode_reply

HAD = ""
"""The action towards a thing that one already has."""
_MOST_CARRIED = 3
"""Most of one material that a trial collects."""
_DEEPEST = 12
"""Most steps backwards from a goal, since beliefs of mixed origin may form a circle."""


def _choose(prompt: StepPrompt, dice: str, is_trial: bool) -> tuple[str, str]:
    planner = CraftPlanner(prompt, dice=dice)
    return (planner.attempt(), "trying things") if is_trial else planner.choose()


reply = episode_reply(_choose)
Apprentice = partial(StandIn, "builtin/apprentice", reply, count_words)


class CraftPlanner:
    def __init__(self, prompt: StepPrompt, *, dice: str) -> None:
        self._actions, self._dice = prompt.actions, dice
        steps = steps_in(prompt.so_far)
        self._told = Beliefs("\n".join(prompt.told.values()))
        self._shown = Beliefs("\n".join(step.effect for step in steps))
        self._here = surroundings_in(prompt.observation)
        self._episode = Episode(steps, self._here)
        self._things = things_of(prompt.actions)
        self._goal, self._amount = goal_of(prompt.task, self._things)
        self._places = [action.removeprefix(MOVING) for action in prompt.actions if action.startswith(MOVING)]

    def choose(self) -> tuple[str, str]:
        for thing in [self._goal] if self._goal else self._not_had():
            action = self._toward(thing, self._amount)
            if action:
                return self._gathering(thing, action), f"for the {thing}"
        return self.attempt(), "trying things"

    def attempt(self) -> str:
        new_places = [f"go to {place}" for place in self._places if place not in self._episode.seen]
        here = [
            f"collect {thing}"
            for thing in self._here.seen
            if self._here.carried[thing] < _MOST_CARRIED and not self._episode.is_stale(f"collect {thing}")
        ]
        untried = [
            action
            for thing, action in self._things.items()
            if not action.startswith("collect")
            and thing not in self._here.built
            and not self._episode.is_stale(action)
            and any(self._here.carried.values())
        ]
        old_places = [f"go to {place}" for place in self._places if place != self._here.place]
        options = [action for action in (*new_places, *here, *untried) if action in self._actions]
        return self._pick(options or old_places or self._actions)

    # ------------------------------------------------------------ backwards from a thing

    def _toward(self, thing: str, count: int, depth: int = 0) -> str | None:
        """Return the next action, HAD if one already has the thing, None if no belief leads to it."""
        if thing in self._here.built or self._here.carried[thing] >= count:
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
        if material in self._here.seen:
            return action if not self._episode.is_stale(action) else None
        seen = [place for place, things in self._episode.seen.items() if material in things]
        believed = [place for place in self._told.places(material) if place not in self._episode.seen]
        unvisited = [place for place in self._places if place not in self._episode.seen]
        if not (seen or believed or unvisited):
            return None
        return f"go to {[*seen, *believed][0] if seen or believed else self._pick(unvisited)}"

    def _toward_made(self, thing: str, action: str, depth: int) -> str | None:
        recipe = self._ingredients(thing)
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
            place = self._here.built[recipe.station]
            if place != self._here.place:
                return f"go to {place}"
        return None if self._episode.is_stale(action) else action

    def _ingredients(self, thing: str) -> Ingredients | None:
        return self._shown.ingredients(thing) or self._told.ingredients(thing)

    # ------------------------------------------------------------ on the way

    def _gathering(self, goal: str, action: str) -> str:
        """Before leaving a place, first collect what the goal will need from there."""
        if not action.startswith("go to "):
            return action
        wanted: Counter[str] = Counter()
        self._count(goal, self._amount, wanted)
        for material in sorted(self._here.seen):
            collect = f"collect {material}"
            tool = self._told.tool(material)
            lacks = wanted[material] > self._here.carried[material]
            if lacks and (not tool or self._here.carried[tool]) and not self._episode.is_stale(collect):
                return collect
        return action

    def _count(self, thing: str, count: int, wanted: Counter[str], depth: int = 0) -> None:
        wanted[thing] += count
        recipe = self._ingredients(thing)
        is_had = thing in self._here.built or self._here.carried[thing] >= wanted[thing]
        if is_had or depth > _DEEPEST:
            return
        tool = self._told.tool(thing)
        if tool and not self._here.carried[tool] and not wanted[tool]:
            self._count(tool, 1, wanted, depth + 1)
        if recipe is None:
            return
        if recipe.station and recipe.station not in self._here.built and not wanted[recipe.station]:
            self._count(recipe.station, 1, wanted, depth + 1)
        for part, amount in recipe.takes:
            self._count(part, amount * count, wanted, depth + 1)

    def _not_had(self) -> list[str]:
        missing = [
            thing
            for thing in self._things
            if thing not in self._episode.had
            and thing not in self._here.built
            and not self._here.carried[thing]
            and (self._things[thing].startswith("collect") or self._ingredients(thing))
        ]

        def effort(thing: str) -> tuple[int, str]:
            wanted: Counter[str] = Counter()
            self._count(thing, 1, wanted)
            return sum(max(0, n - self._here.carried[name]) for name, n in wanted.items()), thing

        return sorted(missing, key=effort)

    def _pick(self, options: list[str]) -> str:
        digest = hashlib.sha256(f"{self._dice}\x00{'|'.join(sorted(options))}".encode()).digest()
        return sorted(options)[int.from_bytes(digest[:8], "big") % len(options)] if options else ""
