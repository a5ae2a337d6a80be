"""Achievements: action recipes and milestones, both made from the last actions before an achievement.

An action recipe (cascade part B) keeps those actions for the skill that they exercise. A milestone is for an episode
without a goal to reach or miss: if the task is to get as far as possible, each achievement is a success in itself, and
is kept with what was observed before the actions that led to it.

Rules
    - If the same actions lead to the same achievement again, they are still one recipe.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

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
        # A reply without an action is a step too: the environment moved on, but there is nothing to repeat.
        if step.parsed:
            actions.append(step.action)
        found += [(achievement, tuple(actions[-ACTIONS:])) for achievement in step.achievements]
    return found


def harvest_recipes(
    trajectories: Iterable[Trajectory], graph: Graph, *, iteration: int, phase: Phase
) -> list[ActionRecipeHarvested]:
    """Return the recipes from episodes, without those that the graph has already.

    [appendix, action recipes] A recipe is quoted as data, never executed.
    """
    # The graph knows recipes of earlier iterations; in this one several episodes may bring the same.
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


class Milestone(NamedTuple):
    achievement: str
    observation: str
    actions: tuple[str, ...]


def milestones(steps: Sequence[EpisodeStepped]) -> list[Milestone]:
    """Return the milestones of an episode, in order; steps that named no action are left out.

    [section 4, Crafter, success memories] An episode without a goal is neither right nor wrong: each achievement in
    EVALUATE becomes a success memory, which is found by the observation before it.
    """
    found = []
    acted: list[int] = []
    for place, step in enumerate(steps):
        if step.parsed:
            acted.append(place)
        last = acted[-ACTIONS:]
        # The opening observation is in no step, so an achievement by the first action has nothing to be found by.
        if not step.achievements or not last:
            continue
        # The observation of a step is what its action led to: what was seen before an action is in the preceding step.
        before = max(0, last[0] - 1)
        if actions := tuple(steps[at].action for at in last if at > before):
            found += [Milestone(name, steps[before].observation, actions) for name in step.achievements]
    return found


def account_of_milestone(milestone: Milestone) -> str:
    # In the words of an episode's prompt, so that what is remembered reads like what is seen.
    actions = "\n".join(f"Action: {action}" for action in milestone.actions)
    return f"Observation:\n{milestone.observation}\n{actions}"
