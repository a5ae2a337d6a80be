"""The benchmark as the engine sees it."""

from mage_es.engine.players.worlds.generated import distinct
from mage_es.engine.players.worlds.wordmath.benchmark import WordMath


def test_nothing_is_generated_before_it_is_asked_for_and_the_same_only_once() -> None:
    distinct.cache_clear()
    benchmark = WordMath(1)
    assert distinct.cache_info().misses == 0
    questions = benchmark.questions("test")
    assert distinct.cache_info().misses == 1
    assert benchmark.questions("test") is WordMath(1).questions("test") is questions


def test_the_data_hash_follows_the_seed() -> None:
    assert WordMath(1).data_sha256 == WordMath(1).data_sha256 != WordMath(2).data_sha256


def test_the_reference_solution_scores_as_strictly_right() -> None:
    benchmark = WordMath(1)
    for question in benchmark.questions("test"):
        assert benchmark.score(question, question.solution).strict
        assert not benchmark.score(question, f"#### {int(question.gold) + 1}").correct


def test_questions_carry_type_family_and_solution_and_say_that_types_are_metadata() -> None:
    benchmark = WordMath(1)
    question = benchmark.questions("evolution")[0]
    assert benchmark.task_type_source == "metadata"
    assert question.task_type.startswith("wordmath_")
    assert question.family.startswith(question.task_type.removeprefix("wordmath_") + "/")
    assert question.context == ""
