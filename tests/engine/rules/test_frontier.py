"""The frontier of a state, by either estimate of mastery; skills that no question is for are not in the way."""

from mage_es.engine.rules.curriculum import estimated_mastery, learnable
from mage_es.events.vocabulary import SkillCreated
from mage_es.projections.fold import State
from tests.engine.rules.states import Built, setting_of


def test_the_frontier_comes_in_the_order_of_need_and_ends_where_something_is_missing() -> None:
    built = Built()
    for name in ("z", "a"):
        built.skill(name)
    built.skill("goal", needs=("a",))
    built.skill("z", parts=("goal",))
    assert learnable(setting_of(), built.state) == ["a", "z"]
    built.master("a")
    assert learnable(setting_of(), built.state) == ["goal", "z"]


def test_the_lower_bound_needs_more_evidence_than_the_ratchet() -> None:
    built = Built()
    built.master("goal", 0.6)
    assert estimated_mastery(setting_of(), built.state) == {"goal": 0.6}
    cautious = estimated_mastery(setting_of(frontier_estimator="lower_bound"), built.state)["goal"]
    assert 0.2 < cautious < 0.3  # the 5 % quantile of Beta(2, 1) is the root of 0.05
    for _ in range(20):
        built.master("goal", 0.6)
    assert estimated_mastery(setting_of(frontier_estimator="lower_bound"), built.state)["goal"] > 0.8


def test_where_everything_is_mastered_the_weakest_is_worked_on() -> None:
    built = Built()
    built.skill("other", mastery=0.7)
    built.master("goal", 0.9)
    assert learnable(setting_of(), built.state) == ["other"]


def test_the_fallback_is_in_the_frontier_only_while_something_falls_to_it() -> None:
    built = Built()
    built.skill("general")
    assert learnable(setting_of(), built.state) == ["goal"]
    built.edge("resolves", "skill/general", "task_type/t")
    assert learnable(setting_of(), built.state) == ["general", "goal"]


def test_a_parent_whose_task_types_its_children_took_holds_nobody_up() -> None:
    built = Built()
    built.skill("beyond", needs=("goal",))
    built.skill("other")
    for child in ("goal-a", "goal-b"):
        built.state.apply(SkillCreated(skill=child, mastery=0.0, prompt_template="", strategy="", parent="goal"))
    assert learnable(setting_of(), built.state) == ["goal", "other"]
    built.edge("resolves", "skill/a", "task_type/t")
    assert learnable(setting_of(), built.state) == ["beyond", "other"]


def test_where_every_skill_is_idle_all_count() -> None:
    state = State()
    state.apply(SkillCreated(skill="general", mastery=0.0, prompt_template="", strategy=""))
    assert learnable(setting_of(), state) == ["general"]
