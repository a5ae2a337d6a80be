"""Retrieval recipes as events: which query, quotas and least cosine the search arm `recipe` uses for a task type.

Rules
    - A recipe fits the bundle: its quotas add up to at most K, and its query contains the question.
    - A task type uses its newest recipe. A recipe with the same content as the newest is not written again.
"""

import math

import msgspec

from mage_es.engine.briefs import AuthoredRecipe
from mage_es.engine.rules.new_memories import memory_id
from mage_es.engine.rules.rotation import ActionTurn, Written
from mage_es.events.vocabulary import RetrievalRecipeAuthored

QUESTION = "{question}"
LONGEST_TEMPLATE = 500


def problem_of(recipe: AuthoredRecipe, *, bundle: int) -> str:
    """Return why a recipe cannot be used with bundles of this size, or ""."""
    success, failure = recipe.success_quota, recipe.failure_quota
    # Without the question in it a recipe would find the same memories for all of them.
    if QUESTION not in recipe.query_template:
        return f"the query template does not hold {QUESTION}"
    if len(recipe.query_template) > LONGEST_TEMPLATE:
        return f"the query template is longer than {LONGEST_TEMPLATE} characters"
    if min(success, failure) < 0 or not 1 <= success + failure <= bundle:
        return f"quotas of {success} and {failure} do not fit a bundle of {bundle}"
    # With NaN or infinity as its floor a recipe would take everything or nothing.
    if not (math.isfinite(recipe.least_similarity) and -1 <= recipe.least_similarity < 1):
        return f"no cosine is at least {recipe.least_similarity}"
    return ""


def author_recipe(turn: ActionTurn, recipe: AuthoredRecipe | None, *, ordinal: int, bundle: int) -> Written:
    """Return the recipe as an event, or why it was not made.

    [appendix, retrieval recipes] A recipe is a query template, quotas and a floor for one task type, whose search
    bandit then has the arm `recipe`.
    """
    if recipe is None:
        return Written()
    if problem := problem_of(recipe, bundle=bundle):
        return Written(refused=f"refused: {problem}")
    # `repr` of the float: two recipes that differ in the last digit are two recipes.
    content = f"{recipe.success_quota}/{recipe.failure_quota}/{recipe.least_similarity!r}"
    name = memory_id(
        outcome="retrieval_recipe",
        kind="",
        task_type=turn.task_type,
        question=recipe.query_template,
        answer=content,
        reasoning=recipe.reasoning,
    )
    current = turn.state.recipes.retrieval(turn.task_type)
    # Compared with the one in use; an older one that is written again is recorded, but keeps its original birth.
    if current is not None and current.memory_id == name:
        return Written()
    event = RetrievalRecipeAuthored(
        memory_id=name,
        task_type=turn.task_type,
        skill=turn.skill,
        origin=turn.origin,
        iteration=turn.iteration,
        phase="evolve",
        ordinal=ordinal,
        **msgspec.structs.asdict(recipe),
    )
    return Written([event], 1)
