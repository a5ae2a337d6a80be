"""Retrieval is exact, keeps its quotas, and never hands a question its own memories."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.rules.retrieval import Candidates, Query, Terms, quotas, recipe_query, retrieve
from mage_es.engine.seams.embedder import to_bytes
from mage_es.events.vocabulary import MemoryAppended, MemoryQuarantined, MemoryReleased, MemorySuperseded, Origin
from mage_es.projections.memory import Memory
from tests.engine.rules.states import Built

TERMS = Terms(bundle=3, long_context=500, strategy_floor=0.5, exclude_self=True)


def unit(*values: float) -> np.ndarray:
    vector = np.array(values, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def remembered(name: str, vector: np.ndarray, *, ordinal: int, **fields: str) -> MemoryAppended:
    values = {
        "outcome": "success_memory",
        "kind": "",
        "task_type": "t",
        "skill": "s",
        "question_id": f"q-{name}",
        "question": name,
        "recognise": "",
        "reasoning": "r",
        "answer": "1",
        "wrong_answer": "",
        "origin": Origin(),
    } | fields
    return MemoryAppended(
        memory_id=name, steps=(), iteration=0, phase="update", ordinal=ordinal, embedding=to_bytes(vector), **values
    )


def memory_of(*events: MemoryAppended | MemorySuperseded) -> Memory:
    memory = Memory()
    for event in events:
        memory.apply(event)
    return memory


def query(vector: np.ndarray, **changes: object) -> Query:
    return Query(vector, "t", "asked", "What is asked?", 0)._replace(**changes)


NEAR, FAR, OPPOSITE = unit(1, 0.1), unit(1, 1), unit(-1, 0)
ASKED = unit(1, 0)


@pytest.mark.paper("Eq. 3")
def test_short_context_takes_two_successes_and_long_context_two_failures() -> None:
    assert quotas("balanced", query(ASKED, context_length=500), TERMS) == (2, 1)
    assert quotas("balanced", query(ASKED, context_length=501), TERMS) == (1, 2)
    assert quotas("success_only", query(ASKED), TERMS) == (3, 0)
    assert quotas("failure_only", query(ASKED), TERMS) == (0, 3)
    assert quotas("none", query(ASKED), TERMS) == (0, 0)


def test_the_most_similar_come_first_and_an_empty_index_is_not_filled_from_the_other() -> None:
    memory = memory_of(
        remembered("far", FAR, ordinal=0),
        remembered("near", NEAR, ordinal=1),
        remembered("opposite", OPPOSITE, ordinal=2),
    )
    bundle = retrieve("balanced", query(ASKED), memory, TERMS)
    assert [hit.memory_id for hit in bundle.success] == ["near", "far"]
    assert bundle.failure == []


def test_of_the_nearest_cases_those_that_chance_may_have_brought_come_last() -> None:
    memory = memory_of(
        remembered("guess", ASKED, ordinal=0, kind="guess"),
        remembered("far", FAR, ordinal=1),
        remembered("near", NEAR, ordinal=2),
    )
    bundle = retrieve("success_only", query(ASKED), memory, TERMS)
    assert [hit.memory_id for hit in bundle.success] == ["near", "far", "guess"]
    assert Candidates(query(ASKED), memory, TERMS).nearest() == pytest.approx(1.0)


def test_of_equally_near_memories_the_newest_comes_first() -> None:
    memory = memory_of(*(remembered(name, NEAR, ordinal=i) for i, name in enumerate("zyxwv")))
    assert [hit.memory_id for hit in retrieve("success_only", query(ASKED), memory, TERMS).success] == ["v", "w", "x"]


@pytest.mark.parametrize("size", [1023, 2600])
def test_of_many_memories_the_nearest_are_found_as_by_sorting_all(size: int) -> None:
    draw = np.random.default_rng(size)
    angles = draw.integers(0, 200, size)  # so that many are equally near
    memory = memory_of(
        *(remembered(f"{i:04d}", unit(np.cos(a), np.sin(a)), ordinal=i) for i, a in enumerate(angles.tolist()))
    )
    rows = memory.slice("success", "t")
    cosines = rows.vectors @ ASKED
    nearest = sorted(range(size), key=lambda row: (-cosines[row], -row))[:40]
    bundle = retrieve("success_only", query(ASKED), memory, TERMS._replace(bundle=40))
    assert [hit.memory_id for hit in bundle.success] == [rows.ids[row] for row in nearest]


def test_memories_of_another_task_type_are_not_seen() -> None:
    memory = memory_of(remembered("other", NEAR, ordinal=0, task_type="u"))
    assert retrieve("balanced", query(ASKED), memory, TERMS).success == []


def test_a_question_is_not_given_its_own_memories_unless_asked_to() -> None:
    own = [remembered(f"own{i}", NEAR, ordinal=i, question_id="asked") for i in range(20)]
    memory = memory_of(*own, remembered("other", FAR, ordinal=99))
    assert [hit.memory_id for hit in retrieve("success_only", query(ASKED), memory, TERMS).success] == ["other"]
    included = TERMS._replace(exclude_self=False)
    assert len(retrieve("success_only", query(ASKED), memory, included).success) == 3


def test_the_same_question_under_another_id_is_left_out_unless_a_context_tells_the_two_apart() -> None:
    memory = memory_of(remembered("twin", NEAR, ordinal=0, question="  what is ASKED"), remembered("o", FAR, ordinal=1))
    for arm in ("balanced", "success_only", "diverse", "cascade"):
        assert [hit.memory_id for hit in retrieve(arm, query(ASKED), memory, TERMS).success] == ["o"]
    in_context = query(ASKED, context_length=9, question="")
    assert [hit.memory_id for hit in retrieve("balanced", in_context, memory, TERMS).success] == ["twin", "o"]


def test_a_question_that_was_missed_and_then_solved_is_shown_once_by_its_correction() -> None:
    correction = {"outcome": "failure_memory", "kind": "specific"}
    memory = memory_of(
        remembered("solved", NEAR, ordinal=0, question_id="twice"),
        remembered("other", FAR, ordinal=1),
        remembered("corrected", NEAR, ordinal=2, question_id="twice", **correction),
    )
    for arm in ("balanced", "diverse"):
        found = retrieve(arm, query(ASKED), memory, TERMS)
        assert [[hit.memory_id for hit in hits] for hits in found] == [["other"], ["corrected"]]
    assert retrieve("success_only", query(ASKED), memory, TERMS).success[0].memory_id == "solved"


@pytest.mark.parametrize("arm", ["balanced", "success_only", "failure_only", "diverse", "cascade"])
def test_no_arm_takes_more_than_k_memories(arm: str) -> None:
    both = [{"outcome": "success_memory"}, {"outcome": "failure_memory", "kind": "specific"}]
    memory = memory_of(*(remembered(f"m{i}", NEAR, ordinal=i, **both[i % 2]) for i in range(20)))
    for bundle in range(1, 8):
        found = retrieve(arm, query(ASKED), memory, TERMS._replace(bundle=bundle))
        assert len(found.success) + len(found.failure) == bundle


def test_a_quarantined_memory_is_in_no_bundle_until_it_is_released() -> None:
    here = memory_of(remembered("good", NEAR, ordinal=0), remembered("bad", NEAR, ordinal=1))
    here.apply(MemoryQuarantined(memory_id="bad", reason="", by=""))
    for arm in ("balanced", "success_only", "diverse", "cascade"):
        assert [hit.memory_id for hit in retrieve(arm, query(ASKED), here, TERMS).success] == ["good"]
    here.apply(MemoryReleased(memory_id="bad", reason="", by=""))
    assert len(retrieve("balanced", query(ASKED), here, TERMS).success) == 2


def test_a_recipe_turns_the_question_into_the_text_that_is_embedded() -> None:
    recipe = Built().recipe(template="A rate problem: {question}")
    assert recipe_query(recipe, "How fast?") == "A rate problem: How fast?"
    assert recipe_query(Built().recipe(template=""), "How fast?") == "How fast?"


def test_a_type_strategy_below_the_floor_is_left_out() -> None:
    fields = {"outcome": "failure_memory", "kind": "type_strategy"}
    memory = memory_of(remembered("near", NEAR, ordinal=0, **fields), remembered("far", OPPOSITE, ordinal=1, **fields))
    assert [hit.memory_id for hit in retrieve("failure_only", query(ASKED), memory, TERMS).failure] == ["near"]


def test_a_superseded_memory_is_not_retrieved() -> None:
    old, new = remembered("old", NEAR, ordinal=0), remembered("new", FAR, ordinal=1)
    memory = memory_of(old, new, MemorySuperseded(memory_id="old", by="new"))
    assert [hit.memory_id for hit in retrieve("balanced", query(ASKED), memory, TERMS).success] == ["new"]


def test_diverse_prefers_novelty_to_a_near_copy() -> None:
    memory = memory_of(
        remembered("first", unit(1, 0.30), ordinal=0),
        remembered("copy", unit(1, 0.31), ordinal=1),
        remembered("novel", unit(1, -0.6), ordinal=2),
    )
    assert [hit.memory_id for hit in retrieve("balanced", query(ASKED), memory, TERMS).success] == ["first", "copy"]
    assert [hit.memory_id for hit in retrieve("diverse", query(ASKED), memory, TERMS).success] == ["first", "novel"]


@pytest.mark.parametrize("arm", ["balanced", "success_only", "diverse"])
def test_an_empty_memory_gives_an_empty_bundle(arm: str) -> None:
    assert retrieve(arm, query(ASKED), Memory(), TERMS) == ([], [])


@pytest.mark.paper("Eq. 3")
@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_search_equals_sorting_everything(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = [unit(*rng.integers(-2, 3, size=4) + 0.5) for _ in range(count)]
    memory = memory_of(*(remembered(f"m{i:02d}", vector, ordinal=i) for i, vector in enumerate(vectors)))
    asked = unit(1, 2, 3, 4)
    similarity = memory.slice("success", "t").vectors @ asked
    expected = sorted(range(count), key=lambda i: (-similarity[i], -i))[:3]
    found = retrieve("success_only", query(asked), memory, TERMS).success
    assert [hit.memory_id for hit in found] == [f"m{i:02d}" for i in expected]


ARMS = ("none", "balanced", "success_only", "failure_only", "diverse", "cascade", "recipe")


@st.composite
def experiences(draw: st.DrawFn) -> tuple[Memory, dict[str, dict[str, str]]]:
    """Draw a memory of both indexes and two task types, some of it superseded, quarantined or released again."""
    memory, drawn = Memory(), {}
    for i in range(draw(st.integers(0, 25))):
        fields = {
            "outcome": draw(st.sampled_from(["success_memory", "failure_memory"])),
            "task_type": draw(st.sampled_from(["t", "t", "u"])),
            "question_id": draw(st.sampled_from(["asked", "q1", "q2"])),
            "question": draw(st.sampled_from(["What is asked?", "What else?"])),
        }
        fields["kind"] = draw(st.sampled_from(["specific", "type_strategy"])) if "failure" in fields["outcome"] else ""
        vector = unit(draw(st.integers(-3, 3)) + 0.5, draw(st.integers(-3, 3)) + 0.5)
        name, later = f"m{i:02d}", draw(st.sampled_from(["", "", "superseded", "quarantined", "released"]))
        memory.apply(remembered(name, vector, ordinal=i, **fields))
        if later == "superseded":
            memory.apply(MemorySuperseded(memory_id=name, by="x"))
        elif later:
            memory.apply(MemoryQuarantined(memory_id=name, reason="", by=""))
        if later == "released":
            memory.apply(MemoryReleased(memory_id=name, reason="", by=""))
        drawn[name] = fields | {"later": later}
    return memory, drawn


@pytest.mark.slow
@pytest.mark.paper("Eq. 3")
@settings(max_examples=75, deadline=None)
@given(experiences(), st.sampled_from(ARMS), st.booleans(), st.integers(0, 5), st.integers(0, 4), st.integers(0, 4))
def test_whatever_the_arm_a_bundle_keeps_every_rule(
    experience: tuple[Memory, dict[str, dict[str, str]]], arm: str, exclude: bool, k: int, of_one: int, of_other: int
) -> None:
    memory, drawn = experience
    terms = TERMS._replace(bundle=k, exclude_self=exclude)
    recipe = Built().recipe(quotas=(of_one, of_other), least=0.2) if arm == "recipe" else None
    bundle = retrieve(arm, query(ASKED), memory, terms, recipe=recipe)
    found = [(outcome, hit) for outcome, hits in zip(("success", "failure"), bundle, strict=True) for hit in hits]
    assert len(found) <= k and len({hit.memory_id for _, hit in found}) == len(found)
    for outcome, hit in found:
        fields = drawn[hit.memory_id]
        assert fields["outcome"] == f"{outcome}_memory" and fields["task_type"] == "t"
        assert fields["later"] in ("", "released")
        assert not exclude or (fields["question_id"] != "asked" and fields["question"] == "What else?")
        assert fields["kind"] != "type_strategy" or hit.similarity >= terms.strategy_floor
        assert recipe is None or hit.similarity >= recipe.least_similarity
    if arm != "diverse":
        for hits in bundle:
            newest = sorted(hits, key=lambda hit: hit.memory_id, reverse=True)
            assert hits == sorted(newest, key=lambda hit: -hit.similarity)


OWN_FLOOR = TERMS._replace(strategy_floor=0.0)
WRONG = {"outcome": "failure_memory", "kind": "specific"}
STRATEGY = {"outcome": "failure_memory", "kind": "type_strategy"}


@pytest.mark.paper("section 3.5, strategy floor")
def test_a_type_strategy_goes_first_for_the_quarter_of_its_types_questions_that_is_nearest_to_it() -> None:
    # The strategy points along the y-axis, and none of its type's questions comes near it.
    others = [remembered(f"m{i}", unit(1, i / 10), ordinal=i, **WRONG) for i in range(8)]
    memory = memory_of(*others, remembered("how", unit(0, 1), ordinal=99, **STRATEGY))

    def first(*direction: float) -> str:
        return retrieve("balanced", query(unit(*direction)), memory, OWN_FLOOR).failure[0].memory_id

    assert [first(1, i / 10) for i in range(8)] == ["m0", "m1", "m2", "m3", "m4", "m5", "how", "how"]


def test_a_floor_of_the_run_lets_a_type_strategy_compete_by_its_cosine() -> None:
    memory = memory_of(remembered("m", NEAR, ordinal=0, **WRONG), remembered("how", FAR, ordinal=1, **STRATEGY))
    assert [hit.memory_id for hit in retrieve("failure_only", query(ASKED), memory, TERMS).failure] == ["m", "how"]
    above = TERMS._replace(strategy_floor=0.9)
    assert [hit.memory_id for hit in retrieve("failure_only", query(ASKED), memory, above).failure] == ["m"]


def test_the_strategy_that_was_made_of_a_question_is_not_shown_to_it() -> None:
    memory = memory_of(remembered("how", NEAR, ordinal=0, question_id="asked", **STRATEGY))
    assert retrieve("failure_only", query(ASKED), memory, OWN_FLOOR).failure == []


@pytest.mark.paper("section 3.1, graph")
def test_a_type_with_few_memories_borrows_what_its_own_leave_open_from_types_merged_into_it() -> None:
    few = [remembered("own", FAR, ordinal=0)]
    lent = [
        remembered("u1", NEAR, ordinal=1, task_type="u"),
        remembered("v1", NEAR, ordinal=2, task_type="v"),
        remembered("how", NEAR, ordinal=3, task_type="u", **STRATEGY),
    ]
    asked = query(ASKED, merged=("v", "u"))

    found = retrieve("success_only", asked, memory_of(*few, *lent), OWN_FLOOR)
    assert [hit.memory_id for hit in found.success] == ["own", "v1", "u1"]
    assert retrieve("failure_only", asked, memory_of(*few, *lent), OWN_FLOOR).failure == [], "a strategy is of its type"
    enough = [remembered(f"own{i}", FAR, ordinal=i) for i in range(3)]
    found = retrieve("balanced", asked, memory_of(*enough, *lent), OWN_FLOOR)
    assert [hit.memory_id for hit in found.success] == ["own2", "own1"]


@pytest.mark.parametrize(
    ("arm", "served"),
    [
        ("balanced", {"near-0", "how"}),
        ("success_only", {"near-0"}),
        ("failure_only", {"near-1", "how"}),
        ("diverse", {"near-0", "near-1"}),
    ],
)
def test_of_cases_those_at_the_floor_are_served_and_a_strategy_has_a_floor_of_its_own(
    arm: str, served: set[str]
) -> None:
    kinds: list[dict[str, str]] = [{}, WRONG]
    near = [remembered(f"near-{place}", NEAR, ordinal=place, **kind) for place, kind in enumerate(kinds)]
    far = [remembered(f"far-{place}", unit(0.1, 1), ordinal=5 + place, **kind) for place, kind in enumerate(kinds)]
    how = remembered("how", unit(0.45, -1), ordinal=9, **STRATEGY)
    found = retrieve(arm, query(ASKED), memory_of(how, *near, *far), OWN_FLOOR._replace(floor=0.5))
    assert {hit.memory_id for hit in (*found.success, *found.failure)} == served


def nearest(memory: Memory, terms: Terms = TERMS, **changes: object) -> list[str]:
    bundle = retrieve("nearest", query(ASKED, **changes), memory, terms)
    return sorted(hit.memory_id for hit in (*bundle.success, *bundle.failure))


def test_the_nearest_of_both_indexes_are_taken_whatever_they_are_of() -> None:
    memory = memory_of(
        remembered("far", FAR, ordinal=0),
        remembered("missed", NEAR, ordinal=1, outcome="failure_memory", kind="case"),
        remembered("corrected", unit(1, 0.2), ordinal=2, outcome="failure_memory", kind="specific"),
        remembered("wrong", unit(1, 0.3), ordinal=3, outcome="failure_memory", kind="case"),
        remembered("opposite", OPPOSITE, ordinal=4),
    )
    assert nearest(memory) == ["corrected", "missed", "wrong"]
    assert nearest(memory, TERMS._replace(bundle=5)) == ["corrected", "far", "missed", "opposite", "wrong"]
    bundle = retrieve("nearest", query(ASKED), memory, TERMS._replace(bundle=4))
    assert [hit.memory_id for hit in bundle.success] == ["far"]
    assert [hit.memory_id for hit in bundle.failure] == ["missed", "corrected", "wrong"]


def test_of_cases_with_one_text_the_newest_is_shown() -> None:
    memory = memory_of(
        remembered("solved", NEAR, ordinal=0, question="Which way?"),
        remembered("missed", NEAR, ordinal=1, question="which  WAY", outcome="failure_memory", kind="case"),
        remembered("other", FAR, ordinal=2),
    )
    assert nearest(memory) == ["missed", "other"]


def test_the_nearest_case_is_never_the_question_itself() -> None:
    memory = memory_of(
        remembered("own", ASKED, ordinal=0, question_id="asked", outcome="failure_memory", kind="case"),
        remembered("twin", ASKED, ordinal=1, question="what is asked"),
        remembered("other", FAR, ordinal=2),
    )
    assert nearest(memory) == ["other"]


def test_all_cases_are_near_or_only_those_with_reasoning() -> None:
    bare, reasoned = remembered("bare", NEAR, ordinal=0, reasoning=""), remembered("reasoned", FAR, ordinal=1)
    assert nearest(memory_of(bare, reasoned)) == ["bare", "reasoned"]
    assert nearest(memory_of(bare, reasoned), TERMS._replace(is_reasoned=True)) == ["reasoned"]
    demonstrated = msgspec.structs.replace(bare, phase="serve")  # a client's own words, which need no more
    assert nearest(memory_of(reasoned, demonstrated), TERMS._replace(is_reasoned=True)) == ["bare", "reasoned"]


def test_what_a_types_own_cases_leave_open_is_filled_with_the_nearest_of_all_others() -> None:
    memory = memory_of(
        remembered("own", OPPOSITE, ordinal=0),
        remembered("far", FAR, ordinal=1, task_type="u"),
        remembered("near", NEAR, ordinal=2, task_type="v", outcome="failure_memory", kind="case"),
        remembered("how", ASKED, ordinal=3, task_type="u", **STRATEGY),
        remembered("beyond", unit(0, 1), ordinal=4, task_type="v"),
    )
    assert nearest(memory) == ["own"]
    assert nearest(memory, others=("u", "v")) == ["far", "near", "own"], "a strategy is of its type"
    assert nearest(memory, TERMS._replace(floor=0.9), others=("u", "v")) == [], "with nothing near in its own type"
    memory.apply(remembered("close", NEAR, ordinal=6))
    assert nearest(memory, TERMS._replace(floor=0.9), others=("u", "v")) == ["close", "near"]
    enough = memory_of(*(remembered(f"own{i}", OPPOSITE, ordinal=i) for i in range(3)))
    enough.apply(remembered("near", NEAR, ordinal=9, task_type="v"))
    assert nearest(enough, others=("v",)) == ["own0", "own1", "own2"]


@pytest.mark.parametrize("after", ["balanced", "diverse", "success_only"])
def test_an_arm_finds_after_another_what_it_finds_alone(after: str) -> None:
    memory = memory_of(*(remembered(f"m{place:02d}", unit(1, 0.01 * place), ordinal=place) for place in range(30)))
    shared = Candidates(query(ASKED), memory, TERMS)

    first = retrieve("nearest", query(ASKED), memory, TERMS, candidates=shared)
    assert first == retrieve("nearest", query(ASKED), memory, TERMS)
    assert shared.nearest() == Candidates(query(ASKED), memory, TERMS).nearest() == pytest.approx(1.0)
    assert retrieve(after, query(ASKED), memory, TERMS, candidates=shared) == retrieve(
        after, query(ASKED), memory, TERMS
    )
