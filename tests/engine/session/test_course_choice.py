"""A plan says by itself which course its question takes: the Learner's, an episode's, or a baseline's."""

import msgspec
import pytest

from mage_es.engine.config import Config
from mage_es.engine.courses import Ask, begin
from mage_es.engine.run.world import World, open_world
from mage_es.engine.session.course_choice import planned_course
from mage_es.engine.study.baselines.courses import baseline_course, view_of
from mage_es.engine.study.baselines.entries import BASELINES
from mage_es.engine.study.baselines.table import planned
from mage_es.events.vocabulary import BaselineStarted, QuestionPlanned, SkillCreated
from mage_es.projections.fold import State


def world_of(benchmark: str) -> World:
    return open_world(Config(benchmark=benchmark, seed=7, pool=24, held_out=4, anchors=0), data_dir=None)


def plan(world: World, name: str) -> QuestionPlanned:
    question = world.questions[world.setting.held_out[0]]
    event = planned(name, question, "t", lambda each: baseline_course(world, State(), each)).event
    assert isinstance(event, QuestionPlanned)
    return event


def first_call(world: World, planned: QuestionPlanned) -> Ask:
    state = State()
    state.apply(SkillCreated(skill="general", mastery=0.0, prompt_template="", strategy=""))
    if (name := planned.routing_arm) in BASELINES:
        state.apply(BaselineStarted(baseline=name, samples=1, rounds=0, shots=(), oracle_stop=False, questions=1))
    move = begin(planned_course(world, state, planned))
    assert isinstance(move, Ask)
    return move


@pytest.mark.parametrize(("name", "calls_before_the_last"), [("zero_shot_cot", False), ("self_consistency", True)])
def test_a_plan_whose_arm_is_a_baseline_goes_its_way(name: str, calls_before_the_last: bool) -> None:
    world = world_of("wordmath")
    asked = first_call(world, plan(world, name))
    assert ("/" in asked.about) == calls_before_the_last
    assert asked.request.temperature == (0.7 if name == "self_consistency" else 0.0)


def test_a_plan_with_an_arm_of_the_learner_goes_by_the_graph_to_the_same_prompt_where_that_is_empty() -> None:
    world = world_of("wordmath")
    bare = plan(world, "zero_shot_cot")
    learners = msgspec.structs.replace(bare, skill="general", routing_arm="cot", template="answer_cot")
    assert "cot" not in BASELINES
    assert first_call(world, learners).request == first_call(world, bare).request
    assert first_call(world, learners).droppable == ()


def test_a_question_that_is_an_episode_is_played_a_call_for_each_step() -> None:
    world = world_of("workshop")
    asked = first_call(world, plan(world, "zero_shot_cot"))
    assert asked.about.endswith("/1") and "Valid actions" in asked.request.prompt


def test_a_donor_is_asked_of_the_graph_and_the_question_itself_is_shown() -> None:
    world = world_of("workshop")
    own = plan(world, "zero_shot_cot")
    learners = msgspec.structs.replace(
        own, routing_arm="direct", template="act_direct", donor=world.setting.held_out[1]
    )
    assert world.questions[own.question_id].question in first_call(world, learners).request.prompt


def test_a_method_reasons_where_mage_would() -> None:
    world = world_of("wordmath")
    assert view_of(world).is_reasoned
    assert not view_of(
        world._replace(setting=world.setting._replace(is_labelled=True, is_calculated=False))
    ).is_reasoned
