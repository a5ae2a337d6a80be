"""Stage 1 asks the whole pool in epochs; stage 2 orders the frontier, and can neither add a skill nor lose one."""

from typing import Any

import msgspec
import pytest

from mage_es.engine.agents.navigator import briefs_of, navigator_brief, plan
from mage_es.engine.briefs import ExplorationBrief, NavigatorReply
from mage_es.engine.commands import PlanIteration
from mage_es.engine.config import Config
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Question
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State
from tests.kit.plain_events import plain
from tests.paper_parts import PAPER_PARTS

SETTING = Setting(Config(benchmark="b", pool=2, **PAPER_PARTS), ("q1", "q2"), (), (), ("t", "u"), "")


def state() -> State:
    """Return a state with two skills to learn, one of them tried, and one mastered."""
    fresh = State()
    for skill, task_type in (("a", "t"), ("b: c", "u"), ("known", "v")):
        fresh.apply(
            v.SkillCreated(skill=skill, mastery=0.0, prompt_template="", strategy="", description=f"To {skill}.")
        )
        fresh.apply(v.TaskTypeCreated(task_type=task_type, description=""))
        fresh.apply(v.EdgeAdded(kind="resolves", source=f"skill/{skill}", target=f"task_type/{task_type}"))
    for skill, after, right in (("a", 0.1, 1), ("known", 0.9, 9)):
        fresh.apply(
            v.MasteryUpdated(
                iteration=0, skill=skill, before=0.0, after=after, evidence=0.1, successes=right, failures=10 - right
            )
        )
    return fresh


def planned(*briefs: tuple[str, str], readable: bool = True) -> v.IterationPlanned:
    reply = NavigatorReply(briefs=tuple(ExplorationBrief(skill=skill, brief=brief) for skill, brief in briefs))
    event = plan(SETTING, state(), PlanIteration(1, reply if readable else None))[0].event
    assert isinstance(event, v.IterationPlanned)
    return event


def test_the_guidance_tier_is_told_how_the_learner_stands_with_each_skill_of_the_frontier() -> None:
    brief, _ = navigator_brief(SETTING, state(), 1, failed={}, last={})
    assert [standing.skill for standing in brief.frontier] == ["a", "b: c"]
    first = brief.frontier[0]
    assert (first.mastery, first.right, first.wrong, first.task_types, first.description) == (
        0.1,
        1,
        9,
        ("t",),
        "To a.",
    )
    assert brief.mastered == ("known",)


def test_a_skill_comes_with_its_failures_what_waits_for_it_and_its_last_brief() -> None:
    now = state()
    now.apply(v.EdgeAdded(kind="prerequisite_of", source="skill/a", target="skill/b: c"))
    wrong = [
        Question(id=f"q{n}", benchmark="b", split="evolution", task_type="t", question=f"{n}?", gold="7", solution="no")
        for n in range(5)
    ]
    for question in wrong[:2]:
        now.apply(msgspec.structs.replace(judged(0, question.id, correct=False), answer="8"))
    brief, cut = navigator_brief(SETTING, now, 1, failed={"t": wrong}, last={"a": "Count twice."})
    (first,) = brief.frontier
    assert [(case.question, case.answer, case.solution, case.wrong_answer) for case in first.failures] == [
        ("0?", "7", "", "8"), ("1?", "7", "", "8"), ("2?", "7", "", ""),
    ]  # fmt: skip
    assert (first.needed_by, first.last_brief, cut) == (("b: c",), "Count twice.", None)


def test_a_skill_without_a_task_type_is_not_in_the_brief() -> None:
    now = state()
    now.apply(v.SkillCreated(skill="umbrella", mastery=0.0, prompt_template="", strategy=""))
    brief, _ = navigator_brief(SETTING, now, 1, failed={}, last={})
    assert [standing.skill for standing in brief.frontier] == ["a", "b: c"]


@pytest.mark.paper("agents, Navigator")
def test_the_reply_orders_the_frontier_and_its_briefs_can_be_read_off_the_plan() -> None:
    event = planned(("b: c", "Look\nfor  rests."), ("a", "Count."))
    assert event.frontier == ("b: c", "a")
    assert briefs_of(event) == {"b: c": "Look for rests.", "a": "Count."}


def test_unknown_skills_are_dropped_and_those_left_out_stay_at_the_end() -> None:
    event = planned(("ghost", "Boo."), ("b: c", "Look."), ("b: c", "Again."))
    assert event.frontier == ("b: c", "a")
    assert briefs_of(event) == {"b: c": "Look."}


@pytest.mark.paper("agents, Navigator")
def test_a_reply_that_cannot_be_read_leaves_the_frontier_of_stage_1() -> None:
    event = planned(readable=False)
    assert (event.frontier, event.brief) == (("a", "b: c"), "")


def test_a_brief_is_no_longer_than_a_prompt_can_carry() -> None:
    assert len(briefs_of(planned(("a", "x" * 5000)))["a"]) == 400


def plans(pool: int, evolution: str, *, count: int, wrong: str = "", **changes: Any) -> list[v.IterationPlanned]:
    """Return the plans of some iterations, in each of which the questions in `wrong` are answered wrong."""
    setting = Setting(
        Config(benchmark="b", pool=pool, **{**PAPER_PARTS, **changes}), tuple(evolution), (), (), ("t", "u"), ""
    )
    now, found = state(), []
    for iteration in range(count):
        event = plan(setting, now, PlanIteration(iteration, None))[0].event
        assert isinstance(event, v.IterationPlanned)
        found.append(event)
        now.apply(event)
        for name in (*event.fresh, *event.revisits):
            now.apply(judged(iteration, name, correct=name not in wrong))
    return found


def judged(iteration: int, question_id: str, *, correct: bool) -> v.AnswerJudged:
    return plain(v.AnswerJudged, iteration=iteration, question_id=question_id, task_type="t", correct=correct)


@pytest.mark.paper("Algorithm 1, line 3")
def test_a_pool_that_ends_within_an_iteration_is_gone_through_again_without_a_question_twice_or_left_out() -> None:
    found = plans(4, "abcdefghij", count=5)
    assert [question for event in found[:2] for question in event.fresh] == [*"abcdefgh"]
    assert [len(set(event.fresh)) for event in found] == [4, 4, 4, 4, 4]
    assert found[2].fresh[:2] == ("i", "j")
    assert found[2].repeats == found[2].fresh[2:]
    assert [event.epoch for event in found] == [0, 0, 1, 1, 1]
    assert sorted(question for event in found for question in event.fresh) == sorted("abcdefghij" * 2)
    assert [question for event in found for question in event.repeats] != [*"abcdefghij"]


def test_a_pool_smaller_than_an_iteration_is_asked_once_in_each_and_all_of_it_is_a_repeat_from_then_on() -> None:
    first, second = plans(10, "abc", count=2)
    assert (first.epoch, first.fresh, first.repeats, first.revisits) == (0, ("a", "b", "c"), (), ())
    assert (second.epoch, sorted(second.fresh), second.repeats) == (1, ["a", "b", "c"], second.fresh)


def test_an_open_failure_that_is_fresh_again_leaves_its_place_to_another_question() -> None:
    found = plans(4, "abcdef", count=12, wrong="bcd")
    assert [len(event.fresh) + len(event.revisits) for event in found] == [4] * 12
    assert all(not {*event.fresh} & {*event.revisits} for event in found)
    assert any("b" in event.fresh for event in found[1:]) and any("b" in event.revisits for event in found)


def test_by_default_no_question_is_asked_again_while_others_were_not_asked() -> None:
    found = plans(4, "abcdefgh", count=3, wrong="abcdefgh", revisit_cap=Config(benchmark="b").revisit_cap)
    assert [event.revisits for event in found] == [()] * 3
    assert "".join(question for event in found[:2] for question in event.fresh) == "abcdefgh"
    assert set(found[2].repeats) == set(found[2].fresh)
