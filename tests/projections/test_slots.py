"""A rollback of the mutable slots equals a history in which what it takes back never happened."""

import pytest
from hypothesis import given

from mage_es.events import vocabulary as v
from mage_es.events.errors import LogError
from mage_es.projections.fold import State
from mage_es.projections.slots import Slots
from tests.kit.plain_events import plain
from tests.kit.stages import flat, masked
from tests.kit.strategies import history, slot_histories

SKILLS = ("a", "b", "c", "d")


def created(skill: str, mastery: float = 0.0) -> v.SkillCreated:
    return v.SkillCreated(skill=skill, mastery=mastery, prompt_template=f"p-{skill}", strategy=f"s-{skill}")


def updated(skill: str, after: float) -> v.MasteryUpdated:
    return v.MasteryUpdated(iteration=0, skill=skill, before=0.0, after=after, evidence=1.0, successes=1, failures=0)


def refined(skill: str, words: str) -> v.SkillRefined:
    return plain(v.SkillRefined, skill=skill, prompt_template=f"p {words}", strategy=f"s {words}")


def slots_of(events: list[v.Event]) -> Slots:
    slots = Slots()
    for event in events:
        slots.apply(event)
    return slots


@pytest.mark.paper("section 3.3, rollback")
@given(slot_histories())
def test_rolling_back_equals_masking_from_the_last_rollback_backwards(events: list[v.Event]) -> None:
    assert slots_of(events).digest() == slots_of(masked(events)).digest()


@given(slot_histories())
def test_after_a_rollback_the_digest_is_that_of_the_snapshot(events: list[v.Event]) -> None:
    at_snapshot: dict[int, tuple[str, int]] = {}
    slots, skills = Slots(), 0
    for event in events:
        slots.apply(event)
        skills += isinstance(event, v.SkillCreated)
        if isinstance(event, v.SnapshotTaken):
            at_snapshot[event.iteration] = slots.digest(), skills
        if isinstance(event, v.SlotsRolledBack) and at_snapshot[event.to_iteration][1] == skills:
            assert slots.digest() == at_snapshot[event.to_iteration][0]


def test_a_refined_prompt_stands_beside_the_mastery_until_it_is_rolled_back() -> None:
    slots = slots_of([created("a"), updated("a", 0.9), v.SnapshotTaken(iteration=0), refined("a", "new")])
    assert (slots.mastery("a"), slots.prompt_template("a"), slots.strategy("a")) == (0.9, "p new", "s new")

    slots.apply(v.SlotsRolledBack(iteration=1, to_iteration=0))
    assert (slots.mastery("a"), slots.prompt_template("a"), slots.strategy("a")) == (0.9, "p-a", "s-a")


def test_a_skill_created_after_the_snapshot_gets_its_initial_values() -> None:
    slots = slots_of(
        [created("a"), v.SnapshotTaken(iteration=0), updated("a", 0.9), created("b", 0.25), updated("b", 0.75)]
    )
    slots.apply(v.SlotsRolledBack(iteration=1, to_iteration=0))

    assert (slots.mastery("a"), slots.mastery("b")) == (0.0, 0.25)
    assert (slots.prompt_template("b"), slots.strategy("b")) == ("p-b", "s-b")


def test_a_rollback_to_a_snapshot_that_was_never_taken_is_refused() -> None:
    with pytest.raises(LogError, match=r"iteration 3, but has no snapshot of it \(only of \[0\]\)"):
        slots_of([created("a"), v.SnapshotTaken(iteration=0), v.SlotsRolledBack(iteration=4, to_iteration=3)])


def test_floats_are_compared_by_their_bits() -> None:
    assert slots_of([created("a", 0.1 + 0.2)]).digest() != slots_of([created("a", 0.3)]).digest()


@pytest.mark.paper("section 3.3, rollback")
def test_a_rollback_changes_no_other_projection() -> None:
    rollbacks = 0
    for seed in range(10):
        state = State()
        for event in flat(history(seed=seed, iterations=4, questions=2)):
            is_rollback = isinstance(event, v.SlotsRolledBack)
            before = [view.digest() for view in state.projections() if is_rollback and view is not state.slots]
            state.apply(event)
            after = [view.digest() for view in state.projections() if is_rollback and view is not state.slots]
            assert before == after
            rollbacks += is_rollback
    assert rollbacks > 5
