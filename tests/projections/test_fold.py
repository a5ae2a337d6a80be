"""What must hold of the fold as a whole, over random histories (of each projection alone: engine/testing)."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.errors import UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Digest, IterationClosed, MemoryAppended, RunResumed
from mage_es.projections.fold import State, fold, merged
from mage_es.projections.memory import INDEXES
from tests.kit.invariants import sorted_dump
from tests.kit.random_run import SKILLS, TASK_TYPES
from tests.kit.sources import ListSource
from tests.kit.stages import Stage, drafts_of, flat, folded, round_trip, shuffled
from tests.kit.strategies import histories, history


@given(histories(), st.randoms(use_true_random=False))
def test_answers_of_a_phase_in_any_order_give_the_same_digests(stages: list[Stage], random: Random) -> None:
    assert folded(flat(stages)).digests() == folded(shuffled(stages, random)).digests()


@given(histories(most_iterations=2), st.integers(1, 12))
def test_a_digest_that_was_asked_for_on_the_way_changes_no_later_one(stages: list[Stage], every: int) -> None:
    asked = State()
    for number, event in enumerate(flat(stages)):
        asked.apply(event)
        if number % every == 0:
            asked.digests()
    assert asked.digests() == folded(flat(stages)).digests()


@pytest.mark.slow
@given(histories())
def test_a_fold_that_reads_only_declared_fields_equals_the_live_state(stages: list[Stage]) -> None:
    events = flat(stages)

    assert fold(ListSource(events)).digests() == folded(events).digests()


@given(histories(most_iterations=3), st.data())
def test_dumped_and_loaded_anywhere_a_state_goes_on_as_if_nothing_had_happened(
    stages: list[Stage], data: st.DataObject
) -> None:
    events = flat(stages)
    cut = data.draw(st.integers(0, len(events)))
    before, after = folded(events[:cut]), State()

    for old, new in zip(before.projections(), after.projections(), strict=True):
        new.load(round_trip(old.dump()))
    assert after.digests() == before.digests()
    assert answers(after) == answers(before)

    for event in events[cut:]:
        after.apply(event)
    whole = folded(events)
    assert after.digests() == whole.digests()
    assert answers(after) == answers(whole)
    for old, new in zip(whole.projections(), after.projections(), strict=True):
        assert sorted_dump(round_trip(old.dump())) == sorted_dump(round_trip(new.dump())), old.name


def answers(state: State) -> list[object]:
    """Return what the engine would be told if it asked."""
    slices = [state.memory.slice(index, task_type) for index in INDEXES.values() for task_type in TASK_TYPES]
    return [
        [(found.ids, found.vectors.tobytes(), found.question_ids, found.kinds, found.births) for found in slices],
        [(state.memory.principles(skill), state.evidence.counts(skill)) for skill in SKILLS],
        [(state.memory.latest_strategy(name), state.graph.skill_for_task(name)) for name in TASK_TYPES],
        [state.memory.count(outcome) for outcome in INDEXES],
        (state.questions.open_failures(), state.questions.times_fresh(), state.scores.accepted()),
        [(state.tools.active(skill), state.recipes.actions(skill), state.graph.closure(skill)) for skill in SKILLS],
        [(state.recipes.retrieval(name), state.patterns.of(name)) for name in TASK_TYPES],
        (state.graph.skills_in_order(), state.counts(), state.ledger.accounts(), state.coverage.observed()),
    ]


@pytest.mark.slow
@given(histories(), st.data())
def test_a_fold_can_stop_anywhere_and_go_on_later(stages: list[Stage], data: st.DataObject) -> None:
    source = ListSource(flat(stages))
    until = data.draw(st.integers(0, source.head.seq))

    half = fold(source, until=until)
    assert half.seq == until
    whole = fold(source, state=half)

    assert whole.seq == source.head.seq
    assert whole.digests() == fold(source).digests()


@pytest.mark.slow
@given(histories(), st.randoms(use_true_random=False))
def test_a_projection_that_says_so_may_be_folded_type_by_type(stages: list[Stage], random: Random) -> None:
    events = flat(stages)
    live = folded(events)

    for projection, same in zip(State().projections(), live.projections(), strict=True):
        types = random.sample(sorted(projection.reads, key=str), len(projection.reads))
        if projection.order == "by_type":
            for event_type in types:
                for event in events:
                    if type(event) is event_type:
                        projection.apply(event)
            assert projection.digest() == same.digest(), projection.name


@given(histories(), st.integers(1, 60), st.data())
def test_a_fold_in_stretches_of_any_length_equals_the_live_state(
    stages: list[Stage], stretch: int, data: st.DataObject
) -> None:
    events = flat(stages)
    until = data.draw(st.integers(0, len(events)))

    live, found = folded(events[:until]), fold(ListSource(events, stretch=stretch), until=until)

    assert found.digests() == live.digests()
    assert answers(found) == answers(live)
    assert round_trip(found.progress.dump()) == round_trip(live.progress.dump())


@given(histories(most_iterations=2), st.integers(1, 60))
def test_batches_merged_are_the_events_in_the_order_of_the_log(stages: list[Stage], stretch: int) -> None:
    events = flat(stages)
    reads = {cls: ("iteration",) if hasattr(cls, "iteration") else () for cls in {type(event) for event in events}}

    stretches = ListSource(events, stretch=stretch).batches(reads)

    assert [type(event) for found in stretches for event in merged(list(found.values()))] == list(map(type, events))


def test_a_state_is_not_folded_backwards() -> None:
    source = ListSource(flat(history(seed=1, iterations=1, questions=2)))

    with pytest.raises(UsageError, match="past event 3"):
        fold(source, until=3, state=fold(source))


@given(histories())
def test_closing_and_resuming_change_no_digest(stages: list[Stage]) -> None:
    events = flat(stages)
    rest = [event for event in events if not isinstance(event, IterationClosed | RunResumed)]

    assert folded(events).digests() == folded(rest).digests()


def test_different_histories_have_different_digests() -> None:
    one = folded(flat(history(seed=1, iterations=3, questions=3))).digests()
    other = folded(flat(history(seed=2, iterations=3, questions=3))).digests()

    differing = {a.projection for a, b in zip(one, other, strict=True) if a.value != b.value}
    assert differing == {view.name for view in State().digested()}


@pytest.mark.paper("section 3.1, graph")
def test_a_memory_is_a_node_and_what_it_is_about_is_its_own_field() -> None:
    events = flat(history(seed=4, iterations=1, questions=1))
    memory = next(event for event in events if isinstance(event, MemoryAppended))
    state = folded([memory, memory])

    assert state.node_counts() == {"experience": 1} and state.graph.edge_counts() == {}


def test_the_sizes_of_a_state_are_counted_by_subgraph_and_kind() -> None:
    state = folded(flat(history(seed=3, iterations=2, questions=4)))
    counts = state.counts()

    assert counts["nodes/capability"] == 4 + 2  # one skill was split in two
    assert counts["edges/composes_into"] == 2
    assert counts["nodes/task"] == 4
    assert counts["memories"] == 2 * (4 + 3)
    patterns = [row for row in state.patterns.patterns() if not row.pruned]
    authored = len(state.tools.tools()) + len(state.recipes.recipes()) + len(patterns)
    assert counts["nodes/experience"] == counts["memories"] + authored


@pytest.mark.paper("beyond the paper, replay")
def test_a_real_log_folds_to_the_live_state_at_every_marker_in_flight_and_sealed(tmp_path: Path) -> None:
    stages = history(seed=17, iterations=3, questions=4)
    live, closed = State(), dict[int, tuple[Digest, ...]]()
    with Log.create(tmp_path / "log", run="r", clock=lambda: 0) as log:
        for batch in drafts_of(stages):
            for event in log.append(batch).events:
                live.apply(event)
                if isinstance(event, IterationClosed):
                    closed[event.iteration] = live.digests()
        in_flight = fold(LogReader(tmp_path / "log"))
    sealed = LogReader(tmp_path / "log")

    assert in_flight.digests() == fold(sealed).digests() == live.digests()
    for k, digests in closed.items():
        marker = f"iter-{k}" if k >= 0 else "start"
        assert fold(sealed, until=sealed.resolve(marker)).digests() == digests
    middle = sealed.resolve("iter-1/update")
    half = fold(sealed, until=middle)
    assert round_trip(half.progress.dump()) == round_trip(fold(ListSource(flat(stages)), until=middle).progress.dump())
    assert fold(sealed, state=half).digests() == live.digests()


def test_a_state_is_compared_with_what_was_recorded_and_with_nothing_else() -> None:
    state = folded(flat(history(seed=3, iterations=1, questions=1)))
    recorded = state.digests()

    assert state.differing(recorded) == state.differing(recorded[:9]) == []
    bent = [
        Digest(projection="memory", value="0" * 64),
        Digest(projection="of a later release", value=recorded[0].value),
    ]
    assert state.differing([*recorded[1:], *bent]) == ["memory", "of a later release"]
