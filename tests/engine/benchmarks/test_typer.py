"""The task typer votes among the nearest known questions, never with the question itself."""

from __future__ import annotations

import pytest

from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.benchmarks.typer import NEIGHBOURS, Typer
from mage_es.engine.embedders.hash import HashEmbedder

EMBEDDER = HashEmbedder()


def known(name: str, text: str, task_type: str) -> Question:
    return Question(id=name, benchmark="b", split="evolution", task_type=task_type, question=text, gold="1")


def test_a_question_gets_the_type_of_the_questions_like_it() -> None:
    fruit = [
        known(f"f{n}", f"How many apples and pears does person {n} buy at the market?", "fruit") for n in range(60)
    ]
    trains = [known(f"t{n}", f"A train leaves the station and rides {n} miles to town.", "train") for n in range(60)]
    typer = Typer([*fruit, *trains], EMBEDDER)
    assert typer.predict(["How many pears does Ana buy?", "The train rides 9 miles to the station."]) == [
        "fruit",
        "train",
    ]


def test_an_excluded_question_does_not_vote() -> None:
    typer = Typer([known("a", "red apples", "x"), known("b", "blue trains", "y")], EMBEDDER)
    assert typer.predict(["red apples"]) == ["x"]
    assert typer.predict(["red apples"], exclude=["a"]) == ["y"]
    assert typer.predict(["red apples"], exclude=["unknown"]) == ["x"]


def test_a_tied_vote_goes_to_the_type_of_the_nearer_question() -> None:
    typer = Typer([known("a", "blue trains run", "y"), known("b", "red apples fall", "x")], EMBEDDER)
    assert typer.predict(["red apples fall"]) == ["x"]


def test_equally_near_questions_are_taken_in_order_of_id_however_they_are_given() -> None:
    twins = [
        known(f"q{n:03}", "red apples", "early" if n < NEIGHBOURS // 2 + 1 else "late") for n in range(3 * NEIGHBOURS)
    ]
    assert Typer(twins, EMBEDDER).predict(["red apples"]) == ["early"]
    assert Typer(twins[::-1], EMBEDDER).predict(["red apples"]) == ["early"]


def test_the_answer_does_not_depend_on_what_else_is_asked() -> None:
    questions = open_benchmark("wordmath", seed=5).questions("test")
    typer = Typer(questions[:700], EMBEDDER)
    texts = [question.question for question in questions[300:]]
    names = [question.id for question in questions[300:]]
    together = typer.predict(texts, exclude=names)
    assert together[:40] == [typer.predict([t], exclude=[n])[0] for t, n in zip(texts[:40], names[:40], strict=True)]


def test_shape_decides_where_the_words_say_nothing() -> None:
    short = [known(f"s{n}", "Red kites fly 3 miles.", "short") for n in range(80)]
    long = [known(f"l{n}", " ".join(["Red kites fly 3 miles."] * 4), "long") for n in range(80)]
    typer = Typer([*short, *long], EMBEDDER)
    other = "Blue boats sink 5 times."
    assert typer.predict([other, " ".join([other] * 4)]) == ["short", "long"]


def test_ids_must_match_the_texts() -> None:
    typer = Typer([known("a", "x", "y")], EMBEDDER)
    assert typer.predict([]) == []
    with pytest.raises(ValueError, match="2 texts came with 1 ids"):
        typer.predict(["a", "b"], exclude=["a"])


def test_a_typer_needs_questions() -> None:
    with pytest.raises(ValueError, match="at least one question"):
        Typer([], EMBEDDER)
