"""Frozen inference: answering with frozen bandits learns nothing, draws nothing, and calls no guidance tier."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.auditing.theorems.inference import learning_types
from mage_es.engine.commands import PlanAnswers
from mage_es.engine.courses import Ask, Finish, Use, advance, begin
from mage_es.engine.decide import decide
from mage_es.engine.session.course_choice import planned_course
from mage_es.events.vocabulary import Purpose, QuestionPlanned
from tests.properties.machine import Life
from tests.properties.test_machine import RunMachine

pytestmark = pytest.mark.slow


def lived(steps: int, words: str) -> RunMachine:
    """Return a machine whose run has come some steps far."""
    machine = RunMachine()
    machine.begin(guard="paper", seed=1, chained=True)
    for number in range(steps):
        machine.step(99 * (number % 3 > 0), words)
    return machine


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 45), st.sampled_from(["add", "3 + 4 = 7, so take the larger one"]), st.integers(0, 2**32))
def test_a_frozen_plan_and_its_answers_leave_every_digest_as_it_was(steps: int, words: str, seed: int) -> None:
    life = lived(steps, words).life
    assert life is not None
    purposes: dict[str, Purpose] = dict.fromkeys(life.setting.held_out, "exam")
    command = PlanAnswers(life.iteration, "exam", life.asked(purposes), frozen=True)
    drafts = decide(life.setting, life.state, command)

    other = life.setting._replace(config=msgspec.structs.replace(life.setting.config, seed=seed))
    assert [draft.event for draft in decide(other, life.state, command)] == [draft.event for draft in drafts]
    assert not {type(draft.event) for draft in drafts} & learning_types()
    before, calls = life.state.digests(), 0
    for draft in drafts:
        assert isinstance(draft.event, QuestionPlanned)
        calls += followed(life, draft.event)
    assert calls >= len(purposes) and life.state.digests() == before
    life.end()


def followed(life: Life, planned: QuestionPlanned) -> int:
    """Follow the course of a plan to its end; return how many calls it made, all of them of the execution tier."""
    course, calls = planned_course(life.world, life.state, planned), 0
    move = begin(course)
    while not isinstance(move, Finish):
        assert isinstance(move, Use) or (isinstance(move, Ask) and move.tier == "execution")
        calls += isinstance(move, Ask)
        move = advance(course, life.fact_of(planned, move, "7\n#### 7"))
    return calls
