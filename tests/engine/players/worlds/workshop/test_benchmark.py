"""The benchmark as the engine sees it."""

import pytest

from mage_es.engine.players.worlds.workshop.benchmark import SIZES, Workshop
from mage_es.engine.rules.splits import make_splits

pytestmark = pytest.mark.usefixtures("whole_benchmark")
BENCHMARK = Workshop(2)


def test_hundreds_of_tasks_no_statement_twice() -> None:
    for split, size in SIZES.items():
        questions = BENCHMARK.questions(split)
        assert len({question.question for question in questions}) == len(questions) == size
        assert BENCHMARK.questions(split) is questions


def test_every_reference_solution_is_played_to_its_goal_and_the_test_split_has_none() -> None:
    for question in BENCHMARK.questions("evolution")[::9]:
        assert BENCHMARK.score(question, question.solution).correct
    assert not any(question.solution for question in BENCHMARK.questions("test"))


def test_half_of_the_test_tasks_are_worded_as_evolution_never_words_them() -> None:
    known = {question.family for question in BENCHMARK.questions("evolution")}
    asked = [question.family for question in BENCHMARK.questions("test")]
    assert 0.4 < sum(family not in known for family in asked) / len(asked) < 0.6


def test_few_tasks_are_lost_to_near_duplicates() -> None:
    splits = make_splits(
        BENCHMARK.questions("evolution"), BENCHMARK.questions("test"), seed=2, anchors=60, held_out=150
    )
    assert len(splits.evolution) > 600 and len(splits.held_out) == 150


def test_the_data_hash_follows_the_seed() -> None:
    assert Workshop(1).data_sha256 == Workshop(1).data_sha256 != Workshop(2).data_sha256


def test_a_question_tells_nothing_of_the_rules() -> None:
    for question in BENCHMARK.questions("test")[:50]:
        assert "took" not in question.question and "found" not in question.question
        assert "took" not in BENCHMARK.environment(question).reset().text
