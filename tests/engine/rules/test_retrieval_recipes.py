"""A retrieval recipe must fit the bundle; the newest of a task type is the one in use."""

import msgspec
import pytest

from mage_es.engine.briefs import AuthoredRecipe
from mage_es.engine.rules.retrieval_recipes import author_recipe, problem_of
from mage_es.engine.rules.rotation import ActionTurn, Written
from mage_es.events.vocabulary import Origin
from mage_es.projections.fold import State

RECIPE = AuthoredRecipe(
    query_template="{question} rest", success_quota=2, failure_quota=1, least_similarity=0.1, reasoning="It helps."
)


def written(state: State, recipe: AuthoredRecipe | None, iteration: int = 1) -> Written:
    turn = ActionTurn(state, iteration, task_type="t", skill="s", origin=Origin(facts=("c",)))
    writing = author_recipe(turn, recipe, ordinal=0, bundle=3)
    for event in writing.events:
        state.apply(event)
    return writing


def test_the_newest_recipe_of_a_type_is_in_use_and_the_same_one_is_not_written_twice() -> None:
    state = State()
    assert written(state, RECIPE).authored == 1
    assert written(state, RECIPE, iteration=5) == Written()
    written(state, msgspec.structs.replace(RECIPE, success_quota=1), iteration=9)
    current = state.recipes.retrieval("t")
    assert current is not None and current.success_quota == 1


def test_no_recipe_is_nothing_to_author() -> None:
    assert written(State(), None) == Written()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"query_template": "rest"}, "does not hold {question}"),
        ({"query_template": "{question}" + "x" * 500}, "longer than 500"),
        ({"success_quota": 3}, "quotas of 3 and 1 do not fit a bundle of 3"),
        ({"success_quota": -1}, "quotas of -1"),
        ({"success_quota": 0, "failure_quota": 0}, "quotas of 0 and 0"),
        ({"least_similarity": 1.0}, "no cosine"),
        ({"least_similarity": float("nan")}, "no cosine"),
    ],
)
def test_a_recipe_that_no_search_could_follow_is_refused(changes: dict[str, object], problem: str) -> None:
    recipe = msgspec.structs.replace(RECIPE, **changes)
    found = problem_of(recipe, bundle=3)
    assert problem in found and bool(found) == bool(problem)
    assert written(State(), recipe).refused == (f"refused: {found}" if found else "")
