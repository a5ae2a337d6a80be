"""Action recipes (cascade part B): the last actions before an achievement, kept for the skill that they exercise.

Rules
    - The same actions to the same achievement are one recipe, however often they are met.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from mage_es.engine.rules.trajectories import Trajectory
from mage_es.events.vocabulary import ActionRecipeHarvested, EpisodeStepped, Phase
from mage_es.projections.graph import Graph

ACTIONS = 3  # K, appendix "Cascade-Retrieval Components", B: actions in a recipe


def recipe_id(*, skill: str, achievement: str, actions: Sequence[str]) -> str:
    return hashlib.sha256("\x00".join((skill, achievement, *actions)).encode()).hexdigest()[:32]


def last_actions(steps: Sequence[EpisodeStepped]) -> list[tuple[str, tuple[str, ...]]]:
    """Return each achievement of an episode with the last actions up to it, in order. [appendix, action recipes]"""
    actions: list[str] = []
    found: list[tuple[str, tuple[str, ...]]] = []
    for step in steps:
        # A reply without an action is a step, too: the environment moved on, but there is nothing to do again.
        if step.parsed:
            actions.append(step.action)
        found += [(achievement, tuple(actions[-ACTIONS:])) for achievement in step.achievements]
    return found


def harvest_recipes(
    trajectories: Iterable[Trajectory], graph: Graph, *, iteration: int, phase: Phase
) -> list[ActionRecipeHarvested]:
    """Return the recipes of episodes that the graph does not hold yet.

    [appendix, action recipes] A recipe is quoted as data, never executed.
    """
    # The graph knows recipes of earlier iterations; of this one several episodes may bring the same.
    met: set[str] = set()
    recipes: list[ActionRecipeHarvested] = []
    for trajectory in trajectories:
        for achievement, actions in last_actions(trajectory.steps):
            name = recipe_id(skill=trajectory.skill, achievement=achievement, actions=actions)
            # An achievement before the first action came from the opening, and no recipe leads to it.
            if name in met or not actions or graph.description(f"recipe/{name}"):
                continue
            met.add(name)
            recipe = ActionRecipeHarvested(
                recipe_id=name,
                skill=trajectory.skill,
                task_type=trajectory.task_type,
                question_id=trajectory.question_id,
                achievement=achievement,
                actions=actions,
                origin=trajectory.origin,
                iteration=iteration,
                phase=phase,
                ordinal=len(recipes),
            )
            recipes.append(recipe)
    return recipes
