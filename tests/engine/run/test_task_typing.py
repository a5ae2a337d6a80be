"""Task types: never from a gold answer that the learner must not know, never by a vote of the question itself."""

from collections.abc import Sequence

import pytest

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.run.task_typing import NEIGHBOURS, TaskTyping, Typer
from mage_es.engine.seams.benchmark import Question, TaskTypeSource
from mage_es.events.errors import PrerequisiteError
from mage_es.events.vocabulary import TaskTypeCreated


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


@pytest.mark.paper("section 4.1, task types")
def test_types_made_from_gold_answers_label_evolution_questions_at_most() -> None:
    gold = typing("gold", "gold")
    assert gold.types_of(EVOLUTION, {}) == ["left"] * 80 + ["price"] * 80
    assert gold.types_of([HELD_OUT], {}) == ["left"]
    assert gold.source == "gold"


def test_the_typer_types_a_question_of_any_split_from_its_text_alone() -> None:
    by_text = typing("gold", "input")
    assert by_text.types_of([HELD_OUT, EVOLUTION[-1]], {}) == ["left", "price"]
    assert by_text.source == "input"


def test_metadata_may_be_used_anywhere_and_is_said_to_be() -> None:
    metadata = typing("metadata", "benchmark")
    assert metadata.types_of([HELD_OUT], {}) == ["what the gold answer says"]
    assert metadata.source == "metadata"


def test_a_rule_of_the_benchmarks_own_on_the_text_may_be_used_anywhere_unless_the_typer_is_asked_for() -> None:
    by_rule = typing("input", "benchmark")
    assert by_rule.types_of([HELD_OUT], {}) == ["what the gold answer says"]
    assert by_rule.source == "input"
    assert typing("input", "input").types_of([HELD_OUT], {}) == ["left"]


@pytest.mark.paper("section 4, MedQA, task types")
def test_a_question_whose_metadata_lacks_the_type_is_typed_from_its_text_by_those_that_have_one() -> None:
    bare = [question(f"x{n}", f"What is the price of {n + 90} tickets together?", "") for n in range(90)]
    mixed = TaskTyping(Source("metadata"), [*bare, *EVOLUTION], HashEmbedder(), choice="benchmark")  # type: ignore[arg-type]
    assert mixed.types_of([HELD_OUT, bare[0], EVOLUTION[0]], {}) == ["what the gold answer says", "price", "left"]


def test_where_no_question_has_a_type_the_files_are_asked_for() -> None:
    untyped = TaskTyping(Source("metadata"), [question("x", "How many?", "")], HashEmbedder(), choice="benchmark")  # type: ignore[arg-type]
    with pytest.raises(PrerequisiteError, match="No evolution question has a task type"):
        untyped.types_of([question("y", "How many?", "")], {})


EMBEDDER = HashEmbedder()


INDUCED = {
    "shares": TaskTypeCreated(task_type="shares", description="How many are left?", examples=("l1", "l2")),
    "prices": TaskTypeCreated(task_type="prices", description="The price of tickets.", examples=("p1", "p2")),
}


@pytest.mark.paper("section 4.1, task types")
@pytest.mark.parametrize("source", ["gold", "none"])
def test_a_benchmark_without_types_of_its_own_has_those_that_were_induced(source: TaskTypeSource) -> None:
    by_text = typing(source, "benchmark")
    assert by_text.source == "induced"
    assert by_text.types_of([HELD_OUT, EVOLUTION[-1]], INDUCED) == ["shares", "prices"]
    assert by_text.predict(["What is the price of a ticket?"], INDUCED, ids=[""]) == ["prices"]
    # One went out of use: the other is left for all.
    assert by_text.types_of([HELD_OUT], {"prices": INDUCED["prices"]}) == ["prices"]


def test_where_none_were_induced_there_is_one_type() -> None:
    assert typing("gold", "benchmark").types_of([HELD_OUT, EVOLUTION[-1]], {}) == ["task", "task"]


def test_the_description_counts_where_the_examples_say_nothing() -> None:
    twins = {
        name: TaskTypeCreated(task_type=name, description=said, examples=("l1",))
        for name, said in (("a", "trains and boats"), ("b", "plums in a basket"))
    }
    assert typing("none", "benchmark").types_of([HELD_OUT], twins) == ["b"]


def test_a_question_about_as_near_to_another_type_is_doubtful() -> None:
    by_text = typing("none", "benchmark")
    same = {name: TaskTypeCreated(task_type=name, description="", examples=("l1",)) for name in ("a5", "a6")}
    assert by_text.doubtful([HELD_OUT], same) == {HELD_OUT.id: "a6"}
    assert by_text.doubtful([HELD_OUT], INDUCED) == by_text.doubtful([HELD_OUT], {}) == {}


def known(name: str, text: str, task_type: str) -> Question:
    return Question(id=name, benchmark="b", split="evolution", task_type=task_type, question=text, gold="1")


def predicted(typer: Typer, texts: Sequence[str], exclude: Sequence[str] = ()) -> list[str]:
    return typer.predict(texts, EMBEDDER.encode(texts), exclude=exclude)


def test_a_question_gets_the_type_of_the_questions_like_it() -> None:
    fruit = [
        known(f"f{n}", f"How many apples and pears does person {n} buy at the market?", "fruit") for n in range(60)
    ]
    trains = [known(f"t{n}", f"A train leaves the station and rides {n} miles to town.", "train") for n in range(60)]
    typer = Typer([*fruit, *trains], EMBEDDER)
    assert predicted(typer, ["How many pears does Ana buy?", "The train rides 9 miles to the station."]) == [
        "fruit",
        "train",
    ]


def test_an_excluded_question_does_not_vote() -> None:
    typer = Typer([known("a", "red apples", "x"), known("b", "blue trains", "y")], EMBEDDER)
    assert predicted(typer, ["red apples"]) == ["x"]
    assert predicted(typer, ["red apples"], exclude=["a"]) == ["y"]
    assert predicted(typer, ["red apples"], exclude=["unknown"]) == ["x"]


def test_a_tied_vote_goes_to_the_type_of_the_nearer_question() -> None:
    typer = Typer([known("a", "blue trains run", "y"), known("b", "red apples fall", "x")], EMBEDDER)
    assert predicted(typer, ["red apples fall"]) == ["x"]


def test_equally_near_questions_are_taken_in_order_of_id_however_they_are_given() -> None:
    twins = [
        known(f"q{n:03}", "red apples", "early" if n < NEIGHBOURS // 2 + 1 else "late") for n in range(3 * NEIGHBOURS)
    ]
    assert predicted(Typer(twins, EMBEDDER), ["red apples"]) == ["early"]
    assert predicted(Typer(twins[::-1], EMBEDDER), ["red apples"]) == ["early"]


def test_of_very_many_known_questions_some_of_all_are_compared_however_they_are_given() -> None:
    fruit = [known(f"f{n:04}", f"How many {n % 7} apples?", "fruit") for n in range(4_200)]
    trains = [known(f"t{n:04}", f"A train rides {n % 7} miles.", "train") for n in range(4_200)]
    asked = ["How many red apples?", "A slow train rides home."]
    for given in ([*fruit, *trains], [*trains, *fruit]):
        assert predicted(Typer(given, EMBEDDER), asked) == ["fruit", "train"]


def test_the_answer_does_not_depend_on_what_else_is_asked() -> None:
    questions = open_benchmark("wordmath", seed=5).questions("test")
    typer = Typer(questions[:700], EMBEDDER)
    texts = [question.question for question in questions[300:]]
    names = [question.id for question in questions[300:]]
    together = predicted(typer, texts, exclude=names)
    assert together[:40] == [predicted(typer, [t], exclude=[n])[0] for t, n in zip(texts[:40], names[:40], strict=True)]


def test_shape_decides_where_the_words_say_nothing() -> None:
    short = [known(f"s{n}", "Red kites fly 3 miles.", "short") for n in range(80)]
    long = [known(f"l{n}", " ".join(["Red kites fly 3 miles."] * 4), "long") for n in range(80)]
    typer = Typer([*short, *long], EMBEDDER)
    other = "Blue boats sink 5 times."
    assert predicted(typer, [other, " ".join([other] * 4)]) == ["short", "long"]


def test_ids_must_match_the_texts() -> None:
    typer = Typer([known("a", "x", "y")], EMBEDDER)
    assert predicted(typer, []) == []
    with pytest.raises(ValueError, match="2 texts came with 1 ids"):
        predicted(typer, ["a", "b"], exclude=["a"])


def test_a_typer_needs_questions() -> None:
    with pytest.raises(ValueError, match="at least one question"):
        Typer([], EMBEDDER)
