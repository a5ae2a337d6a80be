"""Generated questions: solvable by the hidden rules, in one split only, poisoned and long as the shape says."""

from __future__ import annotations

import pytest

from mage_es.engine.players.worlds.truthworld.benchmark import TruthWorld
from mage_es.engine.players.worlds.truthworld.claims import claims_in, is_true
from mage_es.engine.players.worlds.truthworld.generator import generate
from mage_es.engine.players.worlds.truthworld.puzzles import gold_of, read_puzzle
from mage_es.engine.players.worlds.truthworld.world import ORDINARY, HiddenWorld

BENCHMARK = TruthWorld(42)
WORLD = BENCHMARK.world
EVOLUTION, TEST = BENCHMARK.questions("evolution"), BENCHMARK.questions("test")
BOTH = (*EVOLUTION, *TEST)


def test_the_right_answer_follows_from_the_text_and_the_hidden_rules() -> None:
    for question in BOTH:
        puzzle = read_puzzle(question.question, WORLD)
        assert puzzle is not None
        assert (puzzle.task_type.name, gold_of(puzzle, WORLD)) == (question.task_type, question.gold)


def test_a_sound_solution_states_true_rules_only_and_a_poisoned_one_does_not() -> None:
    for question in BOTH:
        is_sound = all(is_true(WORLD, claim) for claim in claims_in(question.solution))
        assert is_sound == (question.meta["solution"] == "sound"), question.id


def test_every_solution_ends_in_the_right_answer() -> None:
    assert all(BENCHMARK.score(question, question.solution).strict for question in BOTH)


def test_about_as_many_solutions_are_poisoned_and_contexts_long_as_the_shape_says() -> None:
    poisoned = sum(question.meta["solution"] == "poisoned" for question in EVOLUTION) / len(EVOLUTION)
    long = sum(len(question.context) > 500 for question in BOTH) / len(BOTH)
    assert poisoned == pytest.approx(ORDINARY.poisoned / 100, abs=0.02)
    assert long == pytest.approx(ORDINARY.long_contexts / 100, abs=0.02)
    assert all(question.meta["solution"] == "sound" for question in TEST)


def test_a_context_says_nothing_about_any_mark() -> None:
    for question in BOTH:
        assert read_puzzle(f"{question.context}\n\n{question.question}", WORLD) == read_puzzle(question.question, WORLD)
        assert not claims_in(question.context)


def test_no_text_is_asked_twice_and_none_in_both_splits() -> None:
    assert len({question.question for question in BOTH}) == len(BOTH) == 5_000
    assert len({question.id for question in BOTH}) == len(BOTH)


def test_a_share_of_the_test_questions_is_phrased_as_no_evolution_question_is() -> None:
    seen = {question.family for question in EVOLUTION}
    unseen = [question for question in TEST if question.family not in seen]
    assert 0.2 < len(unseen) / len(TEST) < 0.45


def test_the_same_question_comes_from_the_same_arguments() -> None:
    assert generate(HiddenWorld(42), "evolution", 17) == generate(HiddenWorld(42), "evolution", 17)
    assert generate(HiddenWorld(43), "evolution", 17).question != generate(HiddenWorld(42), "evolution", 17).question
