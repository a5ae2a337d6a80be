"""One episode of `workshop`: seventeen actions, a status as text, and no explanation of why an action did nothing.

What a thing costs is stated only when it is made: rules are learned from what worked.
"""

from collections import Counter

from mage_es.engine.players.worlds.workshop.lands import (
    GOODS,
    MATERIALS,
    PLACES,
    STATIONS,
    THINGS,
    achievement,
    closure,
    land,
)
from mage_es.engine.players.worlds.workshop.tasks import Task
from mage_es.engine.players.worlds.workshop.wording import listed, standing
from mage_es.engine.seams.environment import Entity, Observation, Relation, StepOutcome
from mage_es.engine.seams.playing import named_action

ACTIONS = (*(f"go to {place}" for place in PLACES), *(achievement(thing) for thing in THINGS))
"""The same seventeen in every land, at every moment."""
_KINDS = {
    **dict.fromkeys(PLACES, "place"),
    **dict.fromkeys(MATERIALS, "material"),
    **dict.fromkeys(STATIONS, "station"),
    **dict.fromkeys(GOODS, "good"),
}
NOTHING = "Nothing happens."
NO_ACTION = "That is no action."


class WorkshopGame:
    def __init__(self, task: Task) -> None:
        self._task = task
        self._rules = land(task.seed, task.land)
        self._place = task.place
        self._carried = Counter(task.carried)
        self._built = dict(task.built)
        self._left = task.steps
        self._achieved: list[str] = []
        given = {*task.carried, *task.built}
        wanted = closure(self._rules, task.goal) if task.goal else list(THINGS)
        self._wanted = {achievement(thing) for thing in wanted if thing not in given}

    def reset(self) -> Observation:
        """Return the first observation; it names the goal among its entities."""
        goals = [self._task.goal] if self._task.goal else list(THINGS)
        return self._observation("", goals, self._place_seen())

    def valid_actions(self) -> tuple[str, ...]:
        return ACTIONS

    def parse(self, reply: str) -> str | None:
        named = " ".join(named_action(reply).lower().split())
        return named if named in ACTIONS else None

    def step(self, action: str | None) -> StepOutcome:
        before = self.score()
        self._left -= 1
        effect, touched, relations = (NO_ACTION, [], []) if action is None else self._do(action)
        reached = [achievement(thing) for thing in touched if thing not in PLACES]
        new = tuple(name for name in reached if name not in self._achieved)
        self._achieved += new
        return StepOutcome(
            observation=self._observation(effect, touched, relations),
            effect=effect,
            reward=self.score() - before,
            achievements=new,
            done=self._left == 0 or self.score() == 1.0,
        )

    def score(self) -> float:
        """Return 1 if the goal was reached, else half the share of its achievements; for `open`, the share of all
        achievements."""
        share = len(self._wanted.intersection(self._achieved)) / max(1, len(self._wanted))
        if not self._task.goal:
            return share
        return 1.0 if self._is_reached() else min(share, 0.98) / 2

    def _is_reached(self) -> bool:
        goal = self._task.goal
        return goal in self._built if goal in STATIONS else bool(goal) and self._carried[goal] >= self._task.count

    def _do(self, action: str) -> tuple[str, list[str], list[Relation]]:
        verb, _, name = action.rpartition(" ")
        if verb == "go to":
            self._place = name
            return f"You walk to the {name}. {self._seen()}", [name], self._place_seen()
        if verb == "collect":
            return self._collect(name)
        return self._make(name)

    def _collect(self, material: str) -> tuple[str, list[str], list[Relation]]:
        tool = self._rules.tools[material]
        if self._rules.found_at[material] != self._place or (tool and not self._carried[tool]):
            return NOTHING, [], []
        self._carried[material] += 1
        if not tool:
            return f"You collect {material}.", [material], []
        return f"You collect {material} with the {tool}.", [material], [self._relation(material, "needs", tool)]

    def _make(self, thing: str) -> tuple[str, list[str], list[Relation]]:
        recipe = self._rules.recipes[thing]
        can_stand = thing not in self._built and (not recipe.station or self._built.get(recipe.station) == self._place)
        if not can_stand or any(self._carried[part] < amount for part, amount in recipe.takes.items()):
            return NOTHING, [], []
        self._carried.subtract(recipe.takes)
        relations = [self._relation(thing, "takes", part) for part in sorted(recipe.takes)]
        took = f"It took {listed(recipe.takes)}."
        if thing in STATIONS:
            self._built[thing] = self._place
            return f"You build the {thing}. {took}", [thing], relations
        self._carried[thing] += 1
        relations.append(self._relation(thing, "made at", recipe.station))
        return f"You make the {thing} at the {recipe.station}. {took}", [thing], relations

    def _observation(self, effect: str, touched: list[str], relations: list[Relation]) -> Observation:
        carried = f"You carry {listed(self._carried)}." if +self._carried else "You carry nothing."
        built = standing(self._built)
        steps = f"{self._left} step{'' if self._left == 1 else 's'} left."
        status = [f"You are at the {self._place}. {self._seen()}", carried]
        status += [f"{built[0].upper()}{built[1:]}."] if built else []
        here = [*touched, self._place, *(material for material in MATERIALS if self._is_here(material))]
        return Observation(
            text=" ".join([*([effect] if effect else []), *status, steps]),
            entities=tuple(Entity(self._named(name), _KINDS[name]) for name in dict.fromkeys(here)),
            relations=tuple(relations),
        )

    def _seen(self) -> str:
        seen = [material for material in MATERIALS if self._is_here(material)]
        return f"You see {' and '.join(seen)} here." if seen else "You see nothing of use here."

    def _is_here(self, material: str) -> bool:
        return self._rules.found_at[material] == self._place

    def _place_seen(self) -> list[Relation]:
        return [self._relation(m, "found at", self._place) for m in MATERIALS if self._is_here(m)]

    def _relation(self, source: str, label: str, target: str) -> Relation:
        return Relation(self._named(source), label, self._named(target))

    def _named(self, name: str) -> str:
        return f"{name} ({self._task.land})"
