"""The learnable frontier as a state has it (section 3.4), by the configured estimator of mastery.

The rule itself is `curriculum.frontier`; PLAN reads this for its briefs, the cascade for the skill that comes next.
"""

from __future__ import annotations

from collections.abc import Mapping

from mage_es.engine.rules.curriculum import frontier
from mage_es.engine.rules.mastery import lower_bound
from mage_es.engine.rules.ontology import active_skills
from mage_es.engine.rules.setting import Setting
from mage_es.projections.fold import State
from mage_es.projections.graph import GENERAL


def estimated_mastery(setting: Setting, state: State) -> Mapping[str, float]:
    """Return the mastery of every skill, read off the ratchet (Eq. 2) or as a lower bound of the evidence."""
    if setting.config.frontier_estimator == "lower_bound":
        return {skill: lower_bound(*state.evidence.counts(skill)) for skill in state.graph.skills()}
    return {skill: state.slots.mastery(skill) for skill in state.graph.skills()}


def learnable(setting: Setting, state: State) -> list[str]:
    """Return the frontier, prerequisites before what needs them; where nothing is learnable, the weakest skills.

    Idle skills are not in it and hold nothing up: no question is for them, so no evidence would ever come.
    """
    # An idle skill would stay at mastery 0 for ever and block all that needs it.
    idle = _idle(state)
    mastery = {skill: value for skill, value in estimated_mastery(setting, state).items() if skill not in idle}
    prerequisites = {
        skill: [needed for needed in state.graph.prerequisites(skill) if needed not in idle] for skill in mastery
    }
    open_skills = set(frontier(mastery, prerequisites, setting.config.mastery_threshold))
    return [skill for skill in state.graph.skills_in_order() if skill in open_skills]


def _idle(state: State) -> set[str]:
    """Return the skills above the cap, and those without a task type that are the fallback or left over by a split."""
    graph = state.graph
    parents = {skill: graph.parent(skill) for skill in graph.skills()}
    apart = {GENERAL, *parents.values(), *(skill for skill, parent in parents.items() if parent)}
    idle = {skill for skill in apart if skill in parents and not graph.task_types_of(skill)}
    idle |= parents.keys() - set(active_skills(parents))
    # A run in which all skills are idle (nothing resolved yet) has them all, rather than none.
    return idle if len(idle) < len(parents) else set()
