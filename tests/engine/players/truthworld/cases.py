"""Briefs about truthworld, made from generated questions."""

from __future__ import annotations

from collections.abc import Sequence

from mage_es.engine.briefs import Case, FailureCase, SolvedCase, TaskTypeSample
from mage_es.engine.players.worlds.truthworld.benchmark import TruthWorld
from mage_es.engine.seams.benchmark import Question

BENCHMARK = TruthWorld(42)
WORLD = BENCHMARK.world


def of_type(kind: str, *, solution: str = "sound", count: int = 5) -> list[Question]:
    """Return some questions of the first task type of a kind."""
    name = next(found.name for found in WORLD.task_types.values() if found.kind == kind)
    asked = [q for q in BENCHMARK.questions("evolution") if q.task_type == name and q.meta["solution"] == solution]
    return asked[:count]


def shown(question: Question) -> str:
    """Return a solution as briefs show it: without the answer at its end."""
    return question.solution.rpartition("\n")[0]


def failures(questions: Sequence[Question]) -> tuple[FailureCase, ...]:
    """Return the questions as failures."""
    return tuple(
        FailureCase(
            question_id=q.id,
            question=q.question,
            context=q.context,
            wrong_answer="0",
            wrong_reasoning="",
            answer=q.gold,
            solution=shown(q),
        )
        for q in questions
    )


def solved(questions: Sequence[Question]) -> tuple[SolvedCase, ...]:
    """Return the questions as solved ones."""
    return tuple(
        SolvedCase(question_id=q.id, question=q.question, context=q.context, answer=q.gold, solution=shown(q))
        for q in questions
    )


def samples(count: int = 5) -> tuple[TaskTypeSample, ...]:
    """Return samples of every task type."""
    found: dict[str, list[Case]] = {}
    for q in BENCHMARK.questions("evolution"):
        of = found.setdefault(q.task_type, [])
        if len(of) < count:
            of.append(Case(question_id=q.id, question=q.question, answer=q.gold, solution=shown(q)))
    return tuple(TaskTypeSample(task_type=name, samples=tuple(of)) for name, of in sorted(found.items()))
