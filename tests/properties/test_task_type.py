"""The task type of a held-out question follows from its text alone: nothing else of it counts."""

from collections.abc import Sequence
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.players.worlds.wordmath import benchmark as wordmath
from mage_es.engine.players.worlds.wordmath.benchmark import WordMath
from mage_es.engine.run.task_typing import TaskTyping
from mage_es.engine.seams.benchmark import Question, TaskTypeSource

pytestmark = pytest.mark.slow


class TypedByGold(WordMath):
    """A benchmark whose own task types were made from the answers, as those of GSM8K are."""

    task_type_source: TaskTypeSource = "gold"


with patch.dict(wordmath.SIZES, {"evolution": 80, "test": 30}):
    BENCHMARK = TypedByGold(5)
    EVOLUTION, TEST = list(BENCHMARK.questions("evolution")), list(BENCHMARK.questions("test"))


def typing(choice: str, evolution: Sequence[Question] = EVOLUTION) -> TaskTyping:
    return TaskTyping(BENCHMARK, evolution, HashEmbedder(), choice=choice)  # type: ignore[arg-type]


def garbled(question: Question, text: str) -> Question:
    """Return the question with everything but its text and id replaced."""
    told = {"task_type": text, "gold": text, "solution": text, "context": text, "family": text}
    return msgspec.structs.replace(question, **told, meta={"type": text})


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.sampled_from(TEST), min_size=1, max_size=6, unique_by=lambda question: question.id),
    st.text(max_size=20),
    st.sampled_from(["input", "gold"]),
)
def test_a_held_out_question_is_typed_by_its_text_alone(asked: list[Question], text: str, choice: str) -> None:
    known = typing(choice)
    found = known.types_of(asked, {})
    assert found == known.types_of([garbled(question, text) for question in asked], {})
    assert found == [known.types_of([question], {})[0] for question in asked]
    assert set(found) <= {question.task_type for question in EVOLUTION}


def test_the_label_of_an_evolution_question_does_not_count_for_itself() -> None:
    for place in range(20):
        relabelled = [
            msgspec.structs.replace(q, task_type="its own") if n == place else q for n, q in enumerate(EVOLUTION)
        ]
        own = [EVOLUTION[place]]
        assert typing("input", relabelled).types_of(own, {}) == typing("input").types_of(own, {})


def test_with_gold_types_evolution_questions_have_theirs_and_held_out_ones_still_do_not() -> None:
    lying = [msgspec.structs.replace(question, task_type="of the answer") for question in TEST]
    assert typing("gold").types_of(EVOLUTION[:9], {}) == [question.task_type for question in EVOLUTION[:9]]
    assert "of the answer" not in typing("gold").types_of(lying, {})
