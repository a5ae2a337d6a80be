"""Prompt refinement writes two mutable slots, and says what stood there before."""

import pytest

from mage_es.engine.briefs import RefinementReply
from mage_es.engine.rules.authoring import SLOT_LENGTH, refine
from mage_es.engine.rules.rotation import ActionTurn, Written
from mage_es.events.vocabulary import Origin, SkillCreated, SkillRefined, SlotsRolledBack, SnapshotTaken
from mage_es.projections.fold import State


@pytest.fixture
def state() -> State:
    fresh = State()
    fresh.apply(SkillCreated(skill="s", mastery=0.0, prompt_template="", strategy="Read twice."))
    return fresh


def refined(state: State, prompt_template: str, strategy: str) -> Written:
    reply = RefinementReply(prompt_template=prompt_template, strategy=strategy)
    writing = refine(ActionTurn(state, iteration=2, task_type="t", skill="s", origin=Origin(facts=("c",))), reply)
    for event in writing.events:
        state.apply(event)
    return writing


@pytest.mark.paper("section 3.3, prompt refinement")
def test_both_slots_are_written_and_the_event_holds_what_stood_there(state: State) -> None:
    writing = refined(state, "Check the rest.", "Count first.")
    event = writing.events[0]
    assert isinstance(event, SkillRefined)
    assert (event.prompt_template_before, event.strategy_before) == ("", "Read twice.")
    assert (state.slots.prompt_template("s"), state.slots.strategy("s")) == ("Check the rest.", "Count first.")


def test_an_empty_text_leaves_its_slot_and_no_change_is_no_event(state: State) -> None:
    refined(state, "Check.", "")
    assert state.slots.strategy("s") == "Read twice."
    assert refined(state, " Check. ", "Read twice.") == Written()


def test_a_slot_is_cut_to_what_a_prompt_can_carry(state: State) -> None:
    refined(state, "x" * 5000, "")
    assert len(state.slots.prompt_template("s")) == SLOT_LENGTH


def test_a_rollback_takes_a_refinement_back(state: State) -> None:
    state.apply(SnapshotTaken(iteration=1))
    refined(state, "Check.", "")
    state.apply(SlotsRolledBack(iteration=2, to_iteration=1))
    assert state.slots.prompt_template("s") == ""
