"""What two runs learned, taken together: on memories commutative, associative, idempotent."""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.histories.rules.merging import (
    HeldMemory,
    Memories,
    WhyLeft,
    drafts_of,
    merged,
    names_of,
    remembered_in,
)
from mage_es.engine.rules.new_memories import new_memory
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State
from tests.kit.stages import Stage, flat
from tests.kit.strategies import histories


def memory(text: str, *, iteration: int = 0, ordinal: int = 0, fact: str = "f") -> v.MemoryAppended:
    return new_memory(
        outcome="success_memory",
        task_type="t",
        skill="s",
        question_id=text,
        question=text,
        reasoning="",
        answer="1",
        steps=(),
        origin=v.Origin(facts=(fact,)),
        iteration=iteration,
        phase="update",
        ordinal=ordinal,
        embedding=b"\0\0\x80?",
    )


NAMES = [memory(text).memory_id for text in "abcd"]


@st.composite
def learned(draw: st.DrawFn) -> Memories:
    """Draw what a run of few questions may have learned, so that two of them often have the same memory."""
    lessons = {}
    for text in draw(st.sets(st.sampled_from("abcd"))):
        account = memory(
            text,
            iteration=draw(st.integers(0, 2)),
            ordinal=draw(st.integers(0, 2)),
            fact=draw(st.sampled_from(["f", "g"])),
        )
        lessons[account.memory_id] = HeldMemory(
            account,
            frozenset(draw(st.sets(st.sampled_from(NAMES), max_size=2)) - {account.memory_id}),
            frozenset(draw(st.sets(st.sampled_from([("wrong", "ann"), ("harmful", "gate")])))),
        )
    reasons: st.SearchStrategy[WhyLeft] = st.sampled_from(["question", "origin", "kind"])
    return merged(
        Memories({}, draw(st.dictionaries(st.sampled_from(NAMES), reasons, max_size=2))), Memories(lessons, {})
    )


def digest(found: Memories) -> str:
    state = State()
    for draft in drafts_of(found):
        state.apply(draft.event)
    return state.memory.digest()


@pytest.mark.slow
@given(learned(), learned())
def test_the_order_of_two_runs_makes_no_difference(one: Memories, other: Memories) -> None:
    assert merged(one, other) == merged(other, one)
    assert digest(merged(one, other)) == digest(merged(other, one))


@pytest.mark.slow
@given(learned(), learned(), learned())
def test_of_three_runs_any_two_may_be_merged_first(one: Memories, other: Memories, third: Memories) -> None:
    assert merged(merged(one, other), third) == merged(one, merged(other, third))


@pytest.mark.slow
@given(learned(), learned())
def test_a_run_merged_with_itself_or_again_brings_nothing_new(one: Memories, other: Memories) -> None:
    assert merged(one, one) == one
    assert merged(merged(one, other), other) == merged(one, other)


@pytest.mark.slow
@settings(deadline=None)
@given(histories(most_iterations=2))
def test_the_memories_of_one_run_come_back_as_they_were(stages: list[Stage]) -> None:
    events = flat(stages)
    live, again = State(), State()
    for event in events:
        live.apply(event)
    for draft in drafts_of(Memories(remembered_in(events), {})):
        again.apply(draft.event)
    # How often a memory was met measured the run, and begins anew.
    was, now = ({row.memory_id: (row.status, row.birth, row.origin) for row in s.memory.rows()} for s in (live, again))
    assert was == now and len(was) == len(live.memory)


def test_of_two_accounts_of_a_memory_the_earliest_is_kept_with_its_origin() -> None:
    early, late = memory("a", iteration=1, fact="early"), memory("a", iteration=4, fact="late")
    runs = [Memories({early.memory_id: HeldMemory(each)}, {}) for each in (late, early)]
    assert merged(*runs).by_id[early.memory_id].memory.origin.facts == ("early",)


def events_of(*events: v.Event) -> list[v.Event]:
    return [draft.event for draft in drafts_of(Memories(remembered_in(events), {}))]


def test_what_a_person_took_out_of_use_stays_out_unless_it_was_released() -> None:
    a = memory("a")
    out = v.MemoryQuarantined(memory_id=a.memory_id, reason="wrong", by="ann")
    assert events_of(a, out) == [a, out]
    assert events_of(a, out, v.MemoryReleased(memory_id=a.memory_id, reason="right", by="ann")) == [a]


def test_what_was_replaced_is_in_use_again_where_its_successor_does_not_come_along() -> None:
    a, b = memory("a"), memory("b", ordinal=1)
    replaced = v.MemorySuperseded(memory_id=a.memory_id, by=b.memory_id)
    lessons = remembered_in((a, b, replaced))
    assert [draft.event for draft in drafts_of(Memories(lessons, {}))] == [a, b, replaced]
    without = merged(Memories(lessons, {}), Memories({}, {b.memory_id: "question"}))
    assert [draft.event for draft in drafts_of(without)] == [a]


def test_names_are_taken_once_and_prerequisites_of_two_runs_make_no_circle() -> None:
    numbers = count()
    skills = [
        v.SkillCreated(skill=name, mastery=0.0, prompt_template="", strategy="", description=str(next(numbers)))
        for name in ("x", "y", "x")
    ]
    there = v.EdgeAdded(kind="prerequisite_of", source="skill/x", target="skill/y")
    back = v.EdgeAdded(kind="prerequisite_of", source="skill/y", target="skill/x")
    assert list(names_of([*skills, there, back, there])) == [*skills[:2], there]
