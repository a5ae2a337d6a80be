"""The recipes by themselves."""

import msgspec

from mage_es.events import vocabulary as v
from mage_es.projections.recipes import Recipes
from tests.kit.stages import flat, round_trip
from tests.kit.strategies import history

EVENTS = flat(history(seed=1, iterations=1, questions=1))
RETRIEVAL = next(event for event in EVENTS if isinstance(event, v.RetrievalRecipeAuthored))
ACTIONS = next(event for event in EVENTS if isinstance(event, v.ActionRecipeHarvested))


def retrieval(memory_id: str, k: int) -> v.RetrievalRecipeAuthored:
    return msgspec.structs.replace(RETRIEVAL, memory_id=memory_id, iteration=k, task_type="t")


def actions(recipe_id: str, k: int, achievement: str = "axe") -> v.ActionRecipeHarvested:
    return msgspec.structs.replace(ACTIONS, recipe_id=recipe_id, iteration=k, skill="s", achievement=achievement)


def recipes_of(*events: v.Event) -> Recipes:
    recipes = Recipes()
    for event in events:
        recipes.apply(event)
    return recipes


def test_the_newest_retrieval_recipe_of_a_task_type_stands_whatever_came_first() -> None:
    recipes = recipes_of(retrieval("new", 5), retrieval("old", 2))

    found = recipes.retrieval("t")
    assert found is not None and found.memory_id == "new"
    assert recipes.retrieval("another type") is None
    assert recipes.recipe("old").iteration == 2


def test_of_each_achievement_a_skill_has_the_newest_actions_newest_first() -> None:
    recipes = recipes_of(actions("a", 1), actions("b", 3), actions("c", 2, "boat"), actions("d", 0, "boat"))

    assert [recipe.recipe_id for recipe in recipes.actions("s")] == ["b", "c"]
    assert recipes.actions("another skill") == []
    assert len(recipes.recipes()) == 4


def test_quarantine_lets_the_older_recipe_stand_until_the_newer_is_released() -> None:
    recipes = recipes_of(retrieval("old", 2), retrieval("new", 5), actions("a", 1), actions("b", 3))
    for recipe_id in ("new", "b"):
        recipes.apply(v.MemoryQuarantined(memory_id=recipe_id, reason="", by="user"))
    found = recipes.retrieval("t")
    assert found is not None and found.memory_id == "old"
    assert [recipe.recipe_id for recipe in recipes.actions("s")] == ["a"]
    assert recipes.is_quarantined("b") and not recipes.is_quarantined("a")

    for recipe_id in ("new", "b"):
        recipes.apply(v.MemoryReleased(memory_id=recipe_id, reason="", by="user"))
    found = recipes.retrieval("t")
    assert found is not None and found.memory_id == "new"
    assert [recipe.recipe_id for recipe in recipes.actions("s")] == ["b"]


def test_loaded_recipes_answer_as_the_dumped_ones() -> None:
    recipes, loaded = recipes_of(retrieval("x", 1), actions("a", 1), actions("b", 0)), Recipes()
    loaded.load(round_trip(recipes.dump()))

    assert loaded.digest() == recipes.digest() != Recipes().digest()
    assert loaded.retrieval("t") == recipes.retrieval("t")
    assert loaded.actions("s") == recipes.actions("s")
