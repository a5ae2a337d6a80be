"""The oracle against brute force: effects by counting, best bundles by trying every bundle."""

from itertools import combinations
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.truthworld.benchmark import TruthWorld
from tests.kit.truthworld.claims import Claim
from tests.kit.truthworld.law import draw
from tests.kit.truthworld.oracle import Oracle
from tests.kit.truthworld.puzzles import read_puzzle

BENCHMARK = TruthWorld(42)
WORLD = BENCHMARK.world
ORACLE = Oracle(BENCHMARK)
QUESTIONS = [*BENCHMARK.questions("evolution"), *BENCHMARK.questions("test")]
POISONED = next(q for q in QUESTIONS if q.meta["solution"] == "poisoned" and len(q.solution.splitlines()) == 3)
SOUND = next(q for q in QUESTIONS if q.meta["solution"] == "sound" and q.task_type == POISONED.task_type)


class Noted(NamedTuple):
    """A memory as the oracle sees it."""

    reasoning: str
    outcome: str = "success_memory"
    task_type: str = SOUND.task_type
    question_id: str = SOUND.id
    recognise: str = ""


def claims() -> st.SearchStrategy[str]:
    marks = st.sampled_from(WORLD.named(SOUND.task_type).marks).map(WORLD.marks.__getitem__)
    return marks.flatmap(
        lambda mark: st.sampled_from((mark.rule, mark.decoy)).map(lambda rule: str(Claim(mark.word, rule)))
    )


memories = st.lists(st.lists(claims(), max_size=3).map(lambda texts: Noted("; ".join(texts))), max_size=7)


def test_the_four_kinds_are_told_apart_by_effect_and_origin() -> None:
    right = Noted(SOUND.solution)
    fluke = Noted(POISONED.solution, question_id=POISONED.id)
    poisoned = fluke._replace(outcome="failure_memory")
    mute = Noted("Reading the marks from left to right, it comes out.")
    assert [ORACLE.kind(memory) for memory in (right, mute, fluke, poisoned)] == [
        "helpful",
        "useless",
        "harmful",
        "poisoned",
    ]


def test_an_average_effect_is_the_mean_over_the_questions_of_the_type() -> None:
    memory = Noted(POISONED.solution, question_id=POISONED.id)
    asked = [question for question in QUESTIONS if question.task_type == memory.task_type]
    by_hand = [ORACLE.effect_on(question, memory) for question in asked]
    assert ORACLE.effect(memory) == pytest.approx(sum(by_hand) / len(asked))
    assert ORACLE.effect(memory) < 0


def test_a_principle_has_half_the_effect_of_the_same_words_shown_at_work() -> None:
    told = Noted(SOUND.solution, outcome="principle", question_id="")
    assert ORACLE.effect(told) == pytest.approx(ORACLE.effect(Noted(SOUND.solution)) / 2)


def test_a_memory_that_says_what_the_bundle_says_already_adds_nothing() -> None:
    memory = Noted(SOUND.solution)
    assert ORACLE.effect_on(SOUND, memory) > 0
    assert ORACLE.effect_on(SOUND, memory, beside=[memory]) == 0


@settings(deadline=None, max_examples=150)
@given(memories, st.sampled_from([q for q in QUESTIONS if q.task_type == SOUND.task_type][:40]), st.integers(0, 3))
def test_no_bundle_beats_the_best_one(found: list[Noted], question: object, size: int) -> None:
    assert isinstance(question, type(SOUND))
    best = ORACLE.best_bundle(question, found, size=size)
    tried = [bundle for n in range(size + 1) for bundle in combinations(found, n)]
    assert len(best) <= size
    assert ORACLE.success_probability(question, best) == pytest.approx(
        max(ORACLE.success_probability(question, bundle) for bundle in tried)
    )


def test_what_would_have_been_follows_from_the_draw_of_the_question() -> None:
    for question in QUESTIONS[:200]:
        puzzle = read_puzzle(question.question, WORLD)
        assert puzzle is not None
        expected = draw(WORLD, puzzle) < ORACLE.success_probability(question, [])
        assert ORACLE.answers_rightly(question, []) == expected


def test_the_best_route_is_the_one_that_the_land_favours() -> None:
    for task_type in WORLD.task_types.values():
        assert ORACLE.best_route(task_type.name) == task_type.favoured
        assert ORACLE.route_effect(task_type.name, "direct") < 0


def test_a_question_of_another_world_is_refused() -> None:
    stranger = TruthWorld(43).questions("test")[0]
    with pytest.raises(ValueError, match="none of this world"):
        ORACLE.success_probability(stranger, [])
