"""The reference tier sorts questions by what their solutions do to numbers."""

from mage_es.engine.briefs import Case, KnownType, TaskTypesBrief
from mage_es.engine.players.reference.authors import author_task_types

SOLVED = {
    "a": ("Ann has 3 figs and 4 plums. How many in all?", "3 + 4 = 7\n#### 7"),
    "b": ("Bob has 5 pens and 6 cups. How many in all?", "5 + 6 = 11\n#### 11"),
    "c": ("A box holds 6 eggs. How many eggs are in 7 boxes?", "6 * 7 = 42\n#### 42"),
    "d": ("What is the capital?", "It is on the coast."),
}


def sorted_by(*known: str) -> dict[str, tuple[str, ...]]:
    brief = TaskTypesBrief(
        benchmark="b",
        questions=tuple(
            Case(question_id=name, question=q, answer=s.rpartition("= ")[2], solution=s)
            for name, (q, s) in SOLVED.items()
        ),
        known=tuple(KnownType(name=name, description="") for name in known),
        limit=9,
    )
    return {each.name: each.examples for each in author_task_types(brief).task_types}


def test_questions_of_one_sequence_of_operations_are_of_one_type() -> None:
    assert sorted_by() == {"add": ("a", "b")}


def test_a_known_type_takes_a_single_question() -> None:
    assert sorted_by("multiply") == {"add": ("a", "b"), "multiply": ("c",)}
