"""The memory by itself."""

from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events import vocabulary as v
from mage_es.projections.memory import INDEXES, Memory, MemoryRow, digest_of_rows
from tests.kit.random_run import TASK_TYPES
from tests.kit.stages import Stage, flat, round_trip
from tests.kit.strategies import histories, history

SAMPLE = next(e for e in flat(history(seed=7, iterations=1, questions=1)) if isinstance(e, v.MemoryAppended))


def appended(memory_id: str, **changes: object) -> v.MemoryAppended:
    return msgspec.structs.replace(SAMPLE, memory_id=memory_id, **changes)


def failure(
    memory_id: str, k: int, *, kind: str = "specific", question_id: str = "q", task_type: str = "t"
) -> v.MemoryAppended:
    return appended(
        memory_id, outcome="failure_memory", kind=kind, question_id=question_id, task_type=task_type, iteration=k
    )


def memory_of(*events: v.Event) -> Memory:
    memory = Memory()
    for event in events:
        if type(event) in Memory.reads:
            memory.apply(event)
    return memory


def test_a_row_begins_with_the_fields_of_its_event_in_their_order() -> None:
    fields = v.MemoryAppended.__struct_fields__

    assert MemoryRow.__struct_fields__[: len(fields)] == fields
    assert set(MemoryRow.__struct_fields__[len(fields) :]) == {"status", "superseded_by", "met"}
    row = memory_of(SAMPLE).row(SAMPLE.memory_id)
    assert [getattr(row, name) for name in fields] == [getattr(SAMPLE, name) for name in fields]


@given(histories())
def test_slices_hold_exactly_the_active_success_and_failure_memories_of_their_type(stages: list[Stage]) -> None:
    memory = memory_of(*flat(stages))

    for index in ("success", "failure"):
        for task_type in TASK_TYPES:
            view = memory.slice(index, task_type)
            wanted = sorted(
                (row.birth, row.memory_id)
                for row in memory.rows()
                if INDEXES.get(row.outcome) == index and row.task_type == task_type and row.status == "active"
            )
            assert list(zip(view.births, view.ids, strict=True)) == wanted
            for vector, memory_id in zip(view.vectors, view.ids, strict=True):
                assert vector.tobytes() == memory.row(memory_id).embedding


def test_one_product_searches_a_slice() -> None:
    memory = memory_of(appended("a", task_type="t"), appended("b", task_type="t", ordinal=99))
    query = np.frombuffer(SAMPLE.embedding, dtype=np.float32)

    similarity = memory.slice("success", "t").vectors @ query
    assert similarity.shape == (2,)
    assert similarity[0] == similarity[1]


def test_a_superseded_memory_leaves_retrieval_and_stays_stored() -> None:
    older, newer = failure("older", 1), failure("newer", 6)
    memory = memory_of(older, newer, v.MemorySuperseded(memory_id="older", by="newer"))

    assert memory.slice("failure", "t").ids == ["newer"]
    assert (memory.row("older").status, memory.row("older").superseded_by) == ("superseded", "newer")
    assert memory.row("older").reasoning == older.reasoning
    assert memory.count("failure_memory") == len(memory) == 2


def test_a_memory_superseded_twice_leaves_its_slice_once() -> None:
    memory = memory_of(
        *(failure(name, k) for k, name in enumerate("abc")),
        v.MemorySuperseded(memory_id="a", by="b"),
        v.MemorySuperseded(memory_id="a", by="c"),
    )

    assert memory.slice("failure", "t").ids == ["b", "c"]
    assert memory.row("a").superseded_by == "c"


def quarantined(memory_id: str) -> v.MemoryQuarantined:
    return v.MemoryQuarantined(memory_id=memory_id, reason="it misleads", by="user")


def released(memory_id: str) -> v.MemoryReleased:
    return v.MemoryReleased(memory_id=memory_id, reason="it does not", by="user")


@pytest.mark.paper("section 3.1, protected nodes")
def test_a_quarantined_memory_is_in_no_view_and_comes_back_at_its_place_by_birth() -> None:
    rule = appended("p", outcome="principle", skill="s")
    memory = memory_of(*(failure(name, k) for k, name in enumerate("abc")), rule, quarantined("b"), quarantined("p"))
    assert memory.slice("failure", "t").ids == ["a", "c"] and memory.principles("s") == []
    assert (memory.row("b").status, len(memory), memory.count("principle")) == ("quarantined", 4, 1)

    for event in (released("b"), released("p"), released("p")):
        memory.apply(event)
    view = memory.slice("failure", "t")
    assert view.ids == ["a", "b", "c"]
    assert [vector.tobytes() for vector in view.vectors] == [memory.row(name).embedding for name in "abc"]
    assert [row.memory_id for row in memory.principles("s")] == ["p"]


def test_what_was_superseded_before_or_during_its_quarantine_stays_so_when_released() -> None:
    memory = memory_of(
        *(failure(name, k) for k, name in enumerate("abc")),
        v.MemorySuperseded(memory_id="a", by="b"),
        *(quarantined(name) for name in "ab"),
        v.MemorySuperseded(memory_id="b", by="c"),
    )
    assert [memory.row(name).status for name in "abc"] == ["quarantined", "quarantined", "active"]

    memory.apply(released("a"))
    memory.apply(released("b"))
    assert [(memory.row(name).status, memory.row(name).superseded_by) for name in "ab"] == [
        ("superseded", "b"),
        ("superseded", "c"),
    ]
    assert memory.slice("failure", "t").ids == ["c"]


def test_the_latest_is_the_latest_out_of_quarantine() -> None:
    memory = memory_of(
        failure("x", 1), failure("y", 2), failure("s", 1, kind="type_strategy"), quarantined("y"), quarantined("s")
    )
    latest = memory.latest_failure("q")
    assert latest is not None and latest.memory_id == "x"
    assert memory.latest_strategy("t") is None

    memory.apply(released("y"))
    latest = memory.latest_failure("q")
    assert latest is not None and latest.memory_id == "y"


def test_quarantine_of_what_is_no_memory_changes_nothing() -> None:
    memory = memory_of(SAMPLE)
    before = memory.digest()
    memory.apply(quarantined("a tool"))
    memory.apply(released("a tool"))
    assert memory.digest() == before


def test_principles_are_active_ones_of_the_skill_in_order_of_birth() -> None:
    later, earlier = (appended(name, outcome="principle", skill="s", iteration=k) for name, k in (("x", 2), ("y", 1)))
    gone = appended("z", outcome="principle", skill="s", iteration=0)
    memory = memory_of(later, earlier, gone, v.MemorySuperseded(memory_id="z", by="x"))

    assert [row.memory_id for row in memory.principles("s")] == ["y", "x"]
    assert memory.principles("another") == []
    assert memory.slice("success", SAMPLE.task_type).ids == []


def test_the_latest_failure_is_that_about_the_question_and_the_latest_strategy_that_of_the_type() -> None:
    memory = memory_of(
        failure("second", 5),
        failure("first", 1),
        failure("pattern", 3, kind="type_strategy"),
        failure("elsewhere", 9, question_id="other", task_type="u"),
    )

    latest, strategy = memory.latest_failure("q"), memory.latest_strategy("t")
    assert latest is not None and latest.memory_id == "second"
    assert strategy is not None and (strategy.memory_id, strategy.iteration) == ("pattern", 3)
    assert memory.latest_failure("never") is None
    assert memory.latest_strategy("u") is None


def test_meeting_a_memory_again_counts_and_adds_nothing() -> None:
    memory = memory_of(SAMPLE, SAMPLE, v.MemoryReinforced(memory_id=SAMPLE.memory_id, question_id="q", count=2))

    assert memory.count_of(SAMPLE.memory_id) == 2
    assert memory.count_of("never") == 0
    assert memory.slice("success", SAMPLE.task_type).ids == [SAMPLE.memory_id]


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_in_which_memories_of_a_run_are_appended_does_not_matter(stages: list[Stage], random: Random) -> None:
    events = flat(stages)
    made = [event for event in events if isinstance(event, v.MemoryAppended)]
    then = [event for event in events if type(event) in Memory.reads and event not in made]
    one, other = memory_of(*made, *then), memory_of(*random.sample(made, len(made)), *then)

    assert one.digest() == other.digest()
    for task_type in TASK_TYPES:
        assert one.slice("success", task_type).ids == other.slice("success", task_type).ids


def test_every_field_of_a_row_is_in_the_digest() -> None:
    row = memory_of(SAMPLE).row(SAMPLE.memory_id)
    others: dict[str, object] = {
        "outcome": "principle",
        "phase": "close",
        "steps": (v.Step(skill="s", output="o"), *SAMPLE.steps),
        "iteration": 77,
        "ordinal": 77,
        "met": 77,
        "embedding": bytes(32),
        "status": "superseded",
    }

    for name in MemoryRow.__struct_fields__:
        other = msgspec.structs.replace(row, **{name: others.get(name, "another value")})
        assert digest_of_rows([other]) != digest_of_rows([row]), name


def test_the_digest_after_each_event_equals_that_of_the_rows() -> None:
    memory = Memory()
    for event in flat(history(seed=11, iterations=3, questions=2)):
        if type(event) in Memory.reads:
            memory.apply(event)
            assert memory.digest() == digest_of_rows(memory.rows())


def kept(memory: Memory) -> Memory:
    """Return a memory as a snapshot has it, each part in one piece."""
    loaded = Memory()
    loaded.load({number: msgspec.msgpack.encode(part) for number, part in memory.dump().items()})
    loaded.believe(memory.hashes())
    return loaded


def test_two_memories_are_unlike_in_the_rows_that_differ() -> None:
    events = [appended(name, iteration=number // 2) for number, name in enumerate("abcd")]
    here, there = memory_of(*events), memory_of(*events[:2], quarantined("a"))

    for one, other in ((here, there), (kept(here), there), (here, kept(there)), (kept(here), kept(there))):
        found = [(before.keys(), after.keys()) for before, after in one.unlike(other)]
        assert found == [({"a"}, {"a"}), ({"c", "d"}, set())]
        assert list(one.unlike(kept(memory_of(*reversed(events))))) == []


@given(histories(), st.data())
def test_a_memory_from_a_snapshot_answers_as_the_one_that_was_kept(stages: list[Stage], data: st.DataObject) -> None:
    events = [event for event in flat(stages) if type(event) in Memory.reads]
    cut = data.draw(st.integers(0, len(events)))
    folded = memory_of(*events[:cut])
    loaded = kept(folded)

    for event in events[cut:]:
        for memory in (folded, loaded):
            memory.apply(event)
    # In any order of questions, as each may be the first for which a part is split.
    names = data.draw(st.permutations([*folded.ids(), "unknown"]))
    for name in names:
        assert (name in loaded) == (name in folded)
        row = folded.row(name) if name in folded else None
        assert loaded.status_of(name) == folded.status_of(name) == (row.status if row else "")
        assert loaded.count_of(name) == folded.count_of(name) == (row.met if row else 0)
        if row:
            assert loaded.row(name) == row
            assert loaded.question_of(name) == folded.question_of(name) == row.question
            assert loaded.sort_of(name) == folded.sort_of(name)
    assert len(loaded) == len(folded) and loaded.ids() == folded.ids()
    assert loaded.digest() == folded.digest()
    for task_type in TASK_TYPES:
        assert loaded.slice("success", task_type).ids == folded.slice("success", task_type).ids


def test_what_was_kept_of_an_iteration_is_dumped_as_it_is_until_a_row_changes() -> None:
    whole = memory_of(appended("a", iteration=1), appended("b", iteration=2))
    loaded = kept(whole)
    loaded.apply(quarantined("b"))

    first, second = (bytes(msgspec.msgpack.encode(part)) for part in loaded.dump().values())
    assert first == msgspec.msgpack.encode(whole.dump()[1])
    assert second != msgspec.msgpack.encode(whole.dump()[2])
    assert kept(loaded).row("b").status == "quarantined"


def test_the_digest_after_a_load_is_made_of_the_hashes_that_were_believed_until_a_row_changes() -> None:
    whole, loaded = memory_of(appended("a", iteration=1), appended("b", iteration=2)), Memory()
    loaded.load(round_trip(whole.dump()))
    loaded.believe(whole.hashes())
    assert loaded.digest() == whole.digest()

    for memory in (whole, loaded):
        memory.apply(quarantined("b"))
    assert loaded.digest() == whole.digest() != memory_of(*map(appended, "ab")).digest()


def test_outcomes_are_counted_apart() -> None:
    memory = memory_of(*flat(history(seed=2, iterations=3, questions=4)))

    outcomes: list[v.Outcome] = ["success_memory", "failure_memory", "principle", "retrieval_recipe"]
    assert [memory.count(outcome) for outcome in outcomes] == [12, 6, 3, 0]
