"""The frontier of a state: skills that no question is for are neither in it nor in the way."""

from __future__ import annotations

from mage_es.engine.rules.frontier import learnable
from mage_es.events.vocabulary import SkillCreated
from mage_es.projections.fold import State
from tests.engine.rules.states import Built, setting_of


def test_the_fallback_is_in_the_frontier_only_while_something_falls_to_it() -> None:
    built = Built()
    built.skill("general")
    assert learnable(setting_of(), built.state) == ["goal"]
    built.edge("resolves", "skill/general", "task_type/t")
    assert learnable(setting_of(), built.state) == ["general", "goal"]


def test_a_parent_whose_task_types_its_children_took_holds_nobody_up() -> None:
    built = Built()
    built.skill("beyond", needs=("goal",))
    for child in ("goal-a", "goal-b"):
        built.state.apply(SkillCreated(skill=child, mastery=0.0, prompt_template="", strategy="", parent="goal"))
    assert learnable(setting_of(), built.state) == ["goal"]
    built.edge("resolves", "skill/a", "task_type/t")
    assert learnable(setting_of(), built.state) == ["beyond"]


def test_where_every_skill_is_idle_all_count() -> None:
    state = State()
    state.apply(SkillCreated(skill="general", mastery=0.0, prompt_template="", strategy=""))
    assert learnable(setting_of(), state) == ["general"]
