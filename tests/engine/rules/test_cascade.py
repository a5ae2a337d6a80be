"""The four parts of the cascade, each by itself."""

import pytest

from mage_es.engine.rules.cascade import Cascade, active_principles, cascade, is_offered, next_skill
from mage_es.events.vocabulary import SkillCreated
from tests.engine.rules.states import Built, setting_of

OFF = {"cascade_principles": False, "cascade_action_recipes": False, "cascade_plan": False, "cascade_frontier": False}


@pytest.fixture
def built() -> Built:
    """goal needs b, b needs a; goal is composed of p; beyond needs goal; other stands apart."""
    found = Built()
    for name in ("a", "b", "p", "beyond", "other"):
        found.skill(name)
    found.skill("b", needs=("a",))
    found.skill("goal", needs=("b",), parts=("p",))
    found.skill("beyond", needs=("goal",))
    return found


def only(part: str, **changes: object) -> dict[str, object]:
    return OFF | {part: True} | changes


@pytest.mark.paper("appendix, cascade")
def test_principles_of_all_prerequisites_come_first_needed_first_and_the_skills_own_stay_away(built: Built) -> None:
    for name, skill in (("of-b", "b"), ("of-a", "a"), ("of-goal", "goal"), ("of-p", "p")):
        built.memory(name, "principle", skill=skill)
    assert cascade(setting_of(**only("cascade_principles")), built.state, "goal") == Cascade(
        principles=("of-a", "of-b")
    )


@pytest.mark.paper("hyperparameters, caps")
@pytest.mark.parametrize(("cap", "kept"), [(12, 12), (2, 2), (0, 0)])
def test_of_each_skill_the_newest_principles_are_active(built: Built, cap: int, kept: int) -> None:
    for i in range(15):
        built.memory(f"p{i:02d}", "principle", skill="a")
    found = cascade(setting_of(**only("cascade_principles", principles_per_skill=cap)), built.state, "b").principles
    assert found == tuple(f"p{i:02d}" for i in range(15 - kept, 15))


def test_action_recipes_of_the_skill_come_before_those_of_its_prerequisites(built: Built) -> None:
    for name, skill in (("of-a", "a"), ("of-b", "b"), ("old", "goal"), ("new", "goal")):
        built.actions(name, skill, achievement=name)
    found = cascade(setting_of(**only("cascade_action_recipes")), built.state, "goal")
    assert found == Cascade(action_recipes=("new", "old", "of-b"))


def test_the_plan_names_all_sub_skills_in_order_and_the_goal_last(built: Built) -> None:
    setting = setting_of(**only("cascade_plan"))
    assert cascade(setting, built.state, "goal") == Cascade(planning=("a", "b", "p", "goal"))
    assert cascade(setting, built.state, "other") == Cascade()


@pytest.mark.paper("appendix, cascade")
def test_a_mastered_skill_is_replaced_by_the_frontier_skill_that_needs_it(built: Built) -> None:
    for skill in ("a", "b", "goal"):
        built.master(skill)
    setting = setting_of(**only("cascade_frontier"))
    assert cascade(setting, built.state, "goal") == Cascade(guiding_skill="beyond")
    assert next_skill(setting, built.state, "beyond") == ""  # not mastered itself


def test_where_no_frontier_skill_needs_it_a_mastered_skill_guides_itself(built: Built) -> None:
    for skill in ("a", "b", "goal", "other"):
        built.master(skill)
    assert next_skill(setting_of(), built.state, "goal") == "beyond"
    assert next_skill(setting_of(), built.state, "other") == ""


def test_where_everything_is_mastered_every_skill_guides_itself(built: Built) -> None:
    for skill in built.state.graph.skills():
        built.master(skill)
    assert all(next_skill(setting_of(), built.state, skill) == "" for skill in built.state.graph.skills())


def test_a_skill_that_stands_in_brings_its_own_principles_and_those_of_its_prerequisites(built: Built) -> None:
    for skill in ("a", "b", "goal"):
        built.master(skill)
    for name, skill in (("of-a", "a"), ("of-goal", "goal"), ("of-beyond", "beyond")):
        built.memory(name, "principle", skill=skill)
    built.actions("step", "beyond", achievement="arrive")
    found = cascade(setting_of(), built.state, "goal")
    assert found == Cascade("beyond", ("of-a", "of-goal", "of-beyond"), ("step",), ("a", "b", "p", "goal"))


def test_the_lower_bound_of_the_evidence_may_say_what_is_mastered(built: Built) -> None:
    for skill in ("a", "b", "goal"):
        built.master(skill, 1.0)
    assert next_skill(setting_of(frontier_estimator="ratchet"), built.state, "goal") != ""
    assert next_skill(setting_of(frontier_estimator="lower_bound"), built.state, "goal") == ""


def test_the_cascade_is_offered_as_long_as_one_part_is_on() -> None:
    assert not is_offered(setting_of(**OFF).config)
    assert all(is_offered(setting_of(**only(part)).config) for part in OFF)


def test_a_skill_that_was_split_off_knows_the_principles_of_the_one_it_came_from(built: Built) -> None:
    built.state.apply(SkillCreated(skill="b-part", mastery=0.0, prompt_template="", strategy="", parent="b"))
    for name, skill in (("first", "b"), ("second", "b-part"), ("third", "b"), ("of-a", "a")):
        built.memory(name, "principle", skill=skill)
    assert active_principles(setting_of(), built.state, "b-part") == ("first", "second", "third")
    assert active_principles(setting_of(), built.state, "b") == ("first", "third")
