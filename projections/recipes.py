"""Recipes: how to retrieve for a task type, and which actions once led to an achievement.

Rules
    - The newest by birth is the one in use, unless it is in quarantine; the older ones stay stored.
    - A recipe with a known id adds nothing: equal ids are equal contents.
"""

from bisect import insort
from typing import Any, ClassVar

from mage_es.events import vocabulary as v
from mage_es.events.digests import digest
from mage_es.events.segments import Reads
from mage_es.projections.kept import Kept
from mage_es.projections.protocol import Order, unread
from mage_es.projections.slices import Birth, birth_of


class Recipes:
    name: ClassVar[str] = "recipes"
    reads: ClassVar[Reads] = {
        v.RetrievalRecipeAuthored: v.RetrievalRecipeAuthored.__struct_fields__,
        v.ActionRecipeHarvested: v.ActionRecipeHarvested.__struct_fields__,
        v.MemoryQuarantined: ("memory_id",),
        v.MemoryReleased: ("memory_id",),
    }
    order: ClassVar[Order] = "global"

    def __init__(self) -> None:
        self._retrieval: Kept[v.RetrievalRecipeAuthored] = Kept()
        self._actions: Kept[v.ActionRecipeHarvested] = Kept()
        self._by_type: dict[str, list[tuple[Birth, str]]] = {}
        self._by_skill: dict[str, list[tuple[Birth, str]]] = {}

    def apply(self, event: v.Event) -> None:
        match event:
            case v.ActionRecipeHarvested():
                # Filed once: filing an id again would list it twice under its skill.
                if event.recipe_id not in self._actions:
                    self._actions.put(event.recipe_id, event)
                    self._file_actions(event)
            case v.RetrievalRecipeAuthored():
                if event.memory_id not in self._retrieval:
                    self._retrieval.put(event.memory_id, event)
                    self._file_retrieval(event)
            case v.MemoryQuarantined() | v.MemoryReleased():
                self._retrieval.curate(event)
                self._actions.curate(event)
            case _:
                raise unread(self, event)

    def retrieval(self, task_type: str) -> v.RetrievalRecipeAuthored | None:
        # Not just the last one, because in quarantine it makes way for the one before.
        newest_first = [recipe_id for _, recipe_id in reversed(self._by_type.get(task_type, []))]
        return next(self._retrieval.in_use(newest_first), None)

    def recipe(self, memory_id: str) -> v.RetrievalRecipeAuthored:
        return self._retrieval[memory_id]

    def actions(self, skill: str) -> list[v.ActionRecipeHarvested]:
        """Return the action recipes of a skill that are in use, newest first, only the newest for each achievement."""
        newest_first = [recipe_id for _, recipe_id in reversed(self._by_skill.get(skill, []))]
        # An achievement is often reached in several ways; quoting all of them would fill the prompt with one.
        newest: dict[str, v.ActionRecipeHarvested] = {}
        for recipe in self._actions.in_use(newest_first):
            newest.setdefault(recipe.achievement, recipe)
        return list(newest.values())

    def action_recipe(self, recipe_id: str) -> v.ActionRecipeHarvested:
        return self._actions[recipe_id]

    def recipes(self) -> list[v.RetrievalRecipeAuthored | v.ActionRecipeHarvested]:
        retrieval = [self._retrieval[recipe_id] for recipe_id in self._retrieval]
        return [*retrieval, *(self._actions[recipe_id] for recipe_id in self._actions)]

    def is_quarantined(self, recipe_id: str) -> bool:
        return self._retrieval.is_quarantined(recipe_id) or self._actions.is_quarantined(recipe_id)

    def digest(self) -> str:
        # Births are left out, as they are fields of the recipes themselves.
        return digest([self._retrieval.digest(), self._actions.digest()])

    def dump(self) -> Any:
        return [self._retrieval.dump(), self._actions.dump()]

    def load(self, dumped: Any) -> None:
        retrieval, actions = dumped
        self._retrieval = Kept.of(retrieval, v.RetrievalRecipeAuthored)
        self._actions = Kept.of(actions, v.ActionRecipeHarvested)
        # Rebuilt, not dumped: the order is that of birth, which each recipe holds itself.
        self._by_type, self._by_skill = {}, {}
        for recipe_id in self._retrieval:
            self._file_retrieval(self._retrieval[recipe_id])
        for recipe_id in self._actions:
            self._file_actions(self._actions[recipe_id])

    def _file_retrieval(self, recipe: v.RetrievalRecipeAuthored) -> None:
        birth = birth_of(recipe.iteration, recipe.phase, recipe.ordinal)
        insort(self._by_type.setdefault(recipe.task_type, []), (birth, recipe.memory_id))

    def _file_actions(self, recipe: v.ActionRecipeHarvested) -> None:
        birth = birth_of(recipe.iteration, recipe.phase, recipe.ordinal)
        insort(self._by_skill.setdefault(recipe.skill, []), (birth, recipe.recipe_id))
