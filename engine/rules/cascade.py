"""Cascade retrieval: what the capability subgraph adds to a prompt (appendix "Cascade-Retrieval Components").

Rules
    - The cascade adds to the base rule: the arm `cascade` also retrieves what `balanced` would (rules/retrieval.py).
    - Part D comes first. If the question's skill is mastered, the first frontier skill that needs it becomes the guide;
      frontier skills that do not need it are irrelevant to the question. The guide decides what A and B add. C is about
      the goal, which is always the question's own skill.
    - Part A brings the active principles of all prerequisites of the guide: the newest `principles_per_skill` of each,
      prerequisites first. A guide that is not the question's own skill also brings its own principles. The principles
      of the question's own skill belong to the route `cot_principles`.
    - Part B quotes the guide's newest action recipes, then those of its prerequisites, nearest first.
    - Part C names the goal's sub-skills (all that it needs or is composed of) in the order in which they are used.
"""

from itertools import islice
from typing import NamedTuple

from mage_es.engine.config import Config
from mage_es.engine.rules.curriculum import estimated_mastery, learnable
from mage_es.engine.rules.setting import Setting
from mage_es.projections.fold import State
from mage_es.projections.memory import MemoryRow

ACTION_RECIPES = 3  # most action recipes quoted in a prompt; the paper's K = 3 is the number of actions in each


class Cascade(NamedTuple):
    """What the cascade adds: the skill that guides ("": the question's own), memory ids of principles, recipe ids, and
    the goal's sub-skills in order, the goal last (none if it has no sub-skill)."""

    guiding_skill: str = ""
    principles: tuple[str, ...] = ()
    action_recipes: tuple[str, ...] = ()
    planning: tuple[str, ...] = ()


def is_offered(config: Config) -> bool:
    parts = (config.cascade_principles, config.cascade_action_recipes, config.cascade_plan, config.cascade_frontier)
    return any(parts)


def cascade(setting: Setting, state: State, skill: str) -> Cascade:
    """[appendix, cascade] Each part is a switch, and adds to the bundle of the base rule."""
    config = setting.config
    # D decides first, because A and B follow whichever skill guides.
    guide = next_skill(setting, state, skill) if config.cascade_frontier else ""
    needed = state.graph.closure(guide or skill)
    prerequisites = [name for name in needed if name != (guide or skill)]
    plan = state.graph.composition(skill)
    return Cascade(
        guiding_skill=guide,
        principles=_principles(setting, state, needed if guide else prerequisites),
        action_recipes=_action_recipes(state, needed) if config.cascade_action_recipes else (),
        # A plan of one skill would only name the question's own.
        planning=tuple(plan) if config.cascade_plan and len(plan) > 1 else (),
    )


def next_skill(setting: Setting, state: State, skill: str) -> str:
    """Return the first frontier skill that needs a mastered skill; "" if it is not mastered, or if none needs it."""
    threshold, mastery = setting.config.mastery_threshold, estimated_mastery(setting, state)
    if mastery.get(skill, 0.0) < threshold:
        return ""
    # `learnable` falls back to the weakest skills if all are mastered; then no other skill has to guide.
    open_skills = (name for name in learnable(setting, state) if mastery[name] < threshold)
    return next((name for name in open_skills if skill in state.graph.closure(name)), "")


def active_principles(setting: Setting, state: State, skill: str) -> tuple[str, ...]:
    """Return the memory ids of a skill's newest active principles, oldest first, at most `principles_per_skill`.

    A skill that was split from another also knows the other's principles.

    [hyperparameters, caps] The caps bound what prompts and splitting use, never what is stored.
    """
    # A split keeps principles with the parent; copying them to each child would store the same words many times.
    rows: list[MemoryRow] = []
    ancestor = skill
    while ancestor:
        rows += state.memory.principles(ancestor)
        ancestor = state.graph.parent(ancestor)
    rows.sort(key=lambda row: (row.birth, row.memory_id))
    return tuple(row.memory_id for row in rows[max(0, len(rows) - setting.config.principles_per_skill) :])


def _principles(setting: Setting, state: State, skills: list[str]) -> tuple[str, ...]:
    if not setting.config.cascade_principles:
        return ()
    return tuple(dict.fromkeys(found for skill in skills for found in active_principles(setting, state, skill)))


def _action_recipes(state: State, needed: list[str]) -> tuple[str, ...]:
    """Return recipe ids, those of the guiding skill first: it is the last skill of its closure."""
    # Quotas are small, and what is nearest to the question's own skill is worth most.
    found = (recipe.recipe_id for skill in reversed(needed) for recipe in state.recipes.actions(skill))
    return tuple(islice(found, ACTION_RECIPES))
