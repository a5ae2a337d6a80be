"""Retrieval support: more memories never cost more than the share of questions whose bundle is not the best one.

In truthworld the best bundle is computable, so the theorem can be checked as it is meant: A_{k+1} >= A_k - eps_{k+1},
where A is the expected accuracy, eps the share of questions whose bundle at k+1 is not optimal among the memories
then known, bundles have at most K memories, and nothing is quarantined or superseded in between.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.rules.new_memories import memory_id
from mage_es.engine.rules.retrieval import Query, Terms, retrieve
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.embedder import Vector, to_bytes
from mage_es.engine.seams.model import Request
from mage_es.events.vocabulary import MemoryAppended, MemorySuperseded, Origin, Outcome
from mage_es.projections.memory import Memory, MemoryRow
from tests.kit.truthworld.benchmark import TruthWorld
from tests.kit.truthworld.learner import reply
from tests.kit.truthworld.oracle import BUNDLE, Oracle

pytestmark = pytest.mark.slow

BENCHMARK = TruthWorld(42)
ORACLE = Oracle(BENCHMARK)
EMBEDDER = HashEmbedder()
TYPE = next(found.name for found in BENCHMARK.world.task_types.values() if found.kind == "land")
KNOWN = [question for question in BENCHMARK.questions("evolution") if question.task_type == TYPE][:80]
ASKED = [question for question in BENCHMARK.questions("test") if question.task_type == TYPE][:25]
TERMS = Terms(bundle=BUNDLE, long_context=500, strategy_floor=0.0, exclude_self=True)
ARMS = ("none", "balanced", "success_only", "failure_only", "diverse")
TOLERANCE = 1e-9


class Experience(NamedTuple):
    """What was lived through with one question: it was answered, or its solution was read."""

    place: int
    is_success: bool


@cache
def vector(text: str) -> Vector:
    found: Vector = EMBEDDER.encode([text])[0]
    return found


@cache
def remembered(experience: Experience, ordinal: int) -> MemoryAppended:
    """The memory that an ordinary run makes of it: the learner's own reasoning, or the reference solution."""
    question = KNOWN[experience.place]
    own = reply(Request(prompt=f"## Question\n\n{question.question}")).rpartition("\n")[0]
    reasoning = own if experience.is_success else question.solution.rpartition("\n")[0]
    outcome: Outcome = "success_memory" if experience.is_success else "failure_memory"
    kind = "" if experience.is_success else "specific"
    content = {"kind": kind, "task_type": TYPE, "question": question.question, "answer": question.gold}
    return MemoryAppended(
        memory_id=memory_id(outcome=outcome, reasoning=reasoning, **content),
        outcome=outcome,
        **content,
        skill="general",
        question_id=question.id,
        recognise="",
        reasoning=reasoning,
        wrong_answer="",
        steps=(),
        origin=Origin(),
        iteration=0,
        phase="update",
        ordinal=ordinal,
        embedding=to_bytes(vector(question.question)),
    )


def learned(memory: Memory, experiences: Sequence[Experience]) -> Memory:
    for experience in experiences:
        memory.apply(remembered(experience, len(memory)))
    return memory


def bundle(memory: Memory, question: Question, arm: str) -> list[MemoryRow]:
    query = Query(vector(question.question), TYPE, question.id, question.question, len(question.context))
    found = retrieve(arm, query, memory, TERMS)
    return [memory.row(hit.memory_id) for hit in (*found.success, *found.failure)]


def active(memory: Memory) -> list[MemoryRow]:
    return [row for row in memory.rows() if row.status == "active"]


class Measured(NamedTuple):
    """Expected accuracy, and the share of questions whose bundle is not optimal."""

    accuracy: float
    suboptimal: float


def measure(memory: Memory, arm: str) -> Measured:
    got = [ORACLE.success_probability(question, bundle(memory, question, arm)) for question in ASKED]
    best = [
        ORACLE.success_probability(question, ORACLE.best_bundle(question, active(memory), size=BUNDLE))
        for question in ASKED
    ]
    assert all(b >= g - TOLERANCE for g, b in zip(got, best, strict=True))
    missed = sum(b > g + TOLERANCE for g, b in zip(got, best, strict=True))
    return Measured(sum(got) / len(ASKED), missed / len(ASKED))


experiences = st.lists(st.builds(Experience, st.integers(0, len(KNOWN) - 1), st.booleans()), max_size=25, unique=True)


@pytest.mark.paper("Theorem 4")
@settings(deadline=None, max_examples=40)
@given(experiences, experiences, st.sampled_from(ARMS), st.sampled_from(ARMS))
def test_accuracy_falls_by_no_more_than_the_share_of_bundles_that_are_not_optimal(
    before: list[Experience], more: list[Experience], arm: str, later_arm: str
) -> None:
    memory = learned(Memory(), before)
    first = measure(memory, arm)
    second = measure(learned(memory, more), later_arm)
    event(f"accuracy {'falls' if second.accuracy < first.accuracy - TOLERANCE else 'does not fall'}")
    assert second.accuracy >= first.accuracy - second.suboptimal - TOLERANCE


@settings(deadline=None, max_examples=20)
@given(experiences, experiences)
def test_with_the_best_bundles_accuracy_never_falls(before: list[Experience], more: list[Experience]) -> None:
    def best(memory: Memory) -> list[float]:
        bundles = [ORACLE.best_bundle(question, active(memory), size=BUNDLE) for question in ASKED]
        return [ORACLE.success_probability(q, found) for q, found in zip(ASKED, bundles, strict=True)]

    memory = learned(Memory(), before)
    first = best(memory)
    second = best(learned(memory, more))
    assert all(now >= then - TOLERANCE for then, now in zip(first, second, strict=True))


def corrected(*, solution: str, lines: int | None = None) -> list[Experience]:
    """Failure memories of the known questions whose solution is sound, or poisoned; of some length, if one is given."""
    return [
        Experience(place, is_success=False)
        for place, question in enumerate(KNOWN)
        if question.meta["solution"] == solution and lines in (None, question.solution.count("\n"))
    ]


def test_new_poison_makes_accuracy_fall_and_the_bound_covers_it() -> None:
    memory = learned(Memory(), corrected(solution="sound")[:12])
    first = measure(memory, "failure_only")
    second = measure(learned(memory, corrected(solution="poisoned")), "failure_only")
    assert second.accuracy < first.accuracy
    assert first.accuracy - second.accuracy <= second.suboptimal


@pytest.mark.paper("Theorem 4")
def test_a_supersession_in_between_breaks_it_so_the_condition_is_needed() -> None:
    good, bad = corrected(solution="sound")[0], corrected(solution="poisoned", lines=2)[0]
    memory = learned(Memory(), [good])
    first = measure(memory, "failure_only")
    learned(memory, [bad])
    memory.apply(MemorySuperseded(memory_id=remembered(good, 0).memory_id, by=remembered(bad, 1).memory_id))
    # What is left says nothing right, so the empty bundle is the best one for every question.
    second = measure(memory, "none")
    assert second.suboptimal == 0
    assert second.accuracy < first.accuracy
