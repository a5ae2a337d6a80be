"""Where a question's task type comes from: never from a gold answer that the learner must not know."""

from __future__ import annotations

import pytest

from mage_es.engine.benchmarks.protocol import Question, TaskTypeSource
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.task_typing import TaskTyping
from mage_es.events.errors import PrerequisiteError


def question(name: str, text: str, task_type: str) -> Question:
    split = "test" if name.startswith("test") else "evolution"
    return Question(id=name, benchmark="b", split=split, task_type=task_type, question=text, gold="1")  # type: ignore[arg-type]


EVOLUTION = [
    *(question(f"l{n}", f"How many of the {n + 2} apples are left in the basket?", "left") for n in range(80)),
    *(question(f"p{n}", f"What is the price of {n + 2} tickets together?", "price") for n in range(80)),
]
HELD_OUT = question("test-1", "How many of the 9 plums are left in the basket?", "what the gold answer says")


class Source:
    def __init__(self, source: TaskTypeSource) -> None:
        self.task_type_source = source


def typing(source: TaskTypeSource, choice: str) -> TaskTyping:
    return TaskTyping(Source(source), EVOLUTION, HashEmbedder(), choice=choice)  # type: ignore[arg-type]


def test_types_made_from_gold_answers_label_evolution_questions_at_most() -> None:
    gold = typing("gold", "gold")
    assert gold.types_of(EVOLUTION) == ["left"] * 80 + ["price"] * 80
    assert gold.types_of([HELD_OUT]) == ["left"]
    assert gold.source == "gold"


def test_by_default_a_question_of_any_split_is_typed_from_its_text_alone() -> None:
    by_text = typing("gold", "benchmark")
    assert by_text.types_of([HELD_OUT, EVOLUTION[-1]]) == ["left", "price"]
    assert by_text.source == "input"


def test_metadata_may_be_used_anywhere_and_is_said_to_be() -> None:
    metadata = typing("metadata", "benchmark")
    assert metadata.types_of([HELD_OUT]) == ["what the gold answer says"]
    assert metadata.source == "metadata"


def test_a_rule_of_the_benchmarks_own_on_the_text_may_be_used_anywhere_unless_the_typer_is_asked_for() -> None:
    by_rule = typing("input", "benchmark")
    assert by_rule.types_of([HELD_OUT]) == ["what the gold answer says"]
    assert by_rule.source == "input"
    assert typing("input", "input").types_of([HELD_OUT]) == ["left"]


def test_a_question_whose_metadata_lacks_the_type_is_typed_from_its_text_by_those_that_have_one() -> None:
    bare = [question(f"x{n}", f"What is the price of {n + 90} tickets together?", "") for n in range(90)]
    mixed = TaskTyping(Source("metadata"), [*bare, *EVOLUTION], HashEmbedder(), choice="benchmark")  # type: ignore[arg-type]
    assert mixed.types_of([HELD_OUT, bare[0], EVOLUTION[0]]) == ["what the gold answer says", "price", "left"]


def test_where_no_question_has_a_type_the_files_are_asked_for() -> None:
    untyped = TaskTyping(Source("metadata"), [question("x", "How many?", "")], HashEmbedder(), choice="benchmark")  # type: ignore[arg-type]
    with pytest.raises(PrerequisiteError, match="No evolution question has a task type"):
        untyped.types_of([question("y", "How many?", "")])
