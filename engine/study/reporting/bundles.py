"""Example bundles: an exam question of each benchmark, the memories in its prompt, and what the learner made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mage_es.engine.run.exams import RecordedExam
from mage_es.engine.study.reporting.cells import Entry, StudyTable, columns
from mage_es.engine.study.reporting.judging import replies_of
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.reporting.study import Study
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryAppended, QuestionPlanned

_LONGEST = 600
"""How many characters of a text the table shows."""


def bundles(study: Study) -> StudyTable:
    """Return, for the first full run of each benchmark, the right answer whose bundle has the most kinds of memories.

    [tables, bundles and settings] Ties go to the smallest id.
    """
    body: list[tuple[Entry, ...]] = []
    shown: set[str] = set()
    for place in study.full():
        for seed, exam in study.exams(place).items():
            if place.benchmark not in shown and (planned := _richest(study.at(place)[seed], exam)):
                shown.add(place.benchmark)
                body += [(place.benchmark, *row) for row in _rows(study.at(place)[seed], exam, planned)]
    return StudyTable(
        name="bundles",
        title="Retrieved memory bundles",
        place="tab:bundle_example, tab:bundle_example_hotpotqa",
        measure="one exam question for each benchmark: of those answered right the one with most kinds of memories "
        f"in its prompt; texts are cut at {_LONGEST} characters",
        columns=columns("Benchmark", "Part", "Text"),
        rows=tuple(body),
    )


def _richest(run: RecordedRun, exam: RecordedExam) -> QuestionPlanned | None:
    """Return the plan of the right answer with the most kinds of memories, then the most memories, then the smallest
    id."""
    outcomes = _kinds(run)
    reader = LogReader(run.run.exams_path / exam.name / "log")
    right = set(exam.answers.filter("correct")["question_id"])
    return min(
        (plan for plan in reader.of(QuestionPlanned) if plan.memories and plan.question_id in right),
        key=lambda plan: (
            -len({outcomes.get(hit.memory_id) for hit in plan.memories}),
            -len(plan.memories),
            plan.question_id,
        ),
        default=None,
    )


def _kinds(run: RecordedRun) -> Mapping[str, tuple[str, str]]:
    return {memory.memory_id: (memory.outcome, memory.kind) for memory in run.reader.of(MemoryAppended)}


def _rows(run: RecordedRun, exam: RecordedExam, planned: QuestionPlanned) -> Sequence[tuple[str, str]]:
    reply = str(replies_of(run, exam).get(planned.question_id, ""))
    rows = [
        ("question", _question(run, planned.question_id)),
        ("task type / skill", f"{planned.task_type} / {planned.skill}"),
        ("search arm / route", f"{planned.search_arm} / {planned.routing_arm}"),
    ]
    wanted = {hit.memory_id: hit.similarity for hit in planned.memories}
    found = {memory.memory_id: memory for memory in run.reader.of(MemoryAppended) if memory.memory_id in wanted}
    for name, similarity in wanted.items():
        rows += _memory(found[name], similarity)
    score, judge = exam.answers.filter(question_id=planned.question_id).select("score", "judge").row(0)
    return [*rows, ("the learner's output", _cut(reply)), ("score", f"{score:g}, by {judge}")]


def _memory(memory: MemoryAppended, similarity: float) -> Sequence[tuple[str, str]]:
    kind = f", {memory.kind}" if memory.kind else ""
    title = memory.outcome.replace("_", " ") + kind
    texts = {
        "question": memory.question,
        "recognise": memory.recognise,
        "reasoning": memory.reasoning,
        "wrong answer": memory.wrong_answer,
        "answer": memory.answer,
    }
    born = f"iteration {memory.iteration}, cosine {similarity:.3f}"
    return [(title, born), *((f"  {name}", _cut(text)) for name, text in texts.items() if text)]


def _question(run: RecordedRun, name: str) -> str:
    texts = {text.id: text.question for text in run.reader.questions()[0]}
    return _cut(texts.get(name, name))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
