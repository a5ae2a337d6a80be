"""Example bundles: an exam question of each benchmark, the memories in its prompt, and what the learner made of it."""

from __future__ import annotations

from collections.abc import Iterator

from mage_es.engine.run.exams import RecordedExam
from mage_es.engine.study.reporting.cells import TableRow, columns
from mage_es.engine.study.reporting.judging import replies_of
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.reporting.study import Study, TableBody, table
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryAppended, QuestionPlanned

_LONGEST = 600
"""How many characters of a text the table shows."""


@table(
    "bundles",
    "Retrieved memory bundles",
    "tab:bundle_example, tab:bundle_example_hotpotqa",
    "one exam question for each benchmark: of those answered right the one with most kinds of memories in its prompt; "
    f"texts are cut at {_LONGEST} characters",
)
def bundles(study: Study) -> TableBody:
    """Return, for the first full run of each benchmark, the right answer whose bundle has the most kinds of memories.

    [tables, bundles and settings] Ties go to the smallest id.
    """
    body: dict[str, list[TableRow]] = {}
    for place in study.full():
        for seed, exam in study.exams(place).items():
            if rows := [] if place.benchmark in body else list(_rows(study.at(place)[seed], exam)):
                body[place.benchmark] = [(place.benchmark, *row) for row in rows]
    return TableBody(columns("Benchmark", "Part", "Text"), [row for rows in body.values() for row in rows])


def _rows(run: RecordedRun, exam: RecordedExam) -> Iterator[TableRow]:
    """Yield the facts of the right answer with the most kinds of memories, then the most memories, then the smallest
    id; none if no right answer had memories."""
    memories = {memory.memory_id: memory for memory in run.reader.of(MemoryAppended)}
    right = set(exam.answers.filter("correct")["question_id"])

    def rank(plan: QuestionPlanned) -> tuple[int, int, str]:
        known = (memories.get(hit.memory_id) for hit in plan.memories)
        return (
            -len({memory and (memory.outcome, memory.kind) for memory in known}),
            -len(plan.memories),
            plan.question_id,
        )

    plans = LogReader(run.run.exams_path / exam.name / "log").of(QuestionPlanned)
    plan = min((each for each in plans if each.memories and each.question_id in right), key=rank, default=None)
    if plan is None:
        return
    name = plan.question_id
    question = {text.id: text.question for text in run.reader.questions()[0]}.get(name, name)
    yield "question", _cut(question)
    yield "task type / skill", f"{plan.task_type} / {plan.skill}"
    yield "search arm / route", f"{plan.search_arm} / {plan.routing_arm}"
    for hit in plan.memories:
        yield from _memory(memories[hit.memory_id], hit.similarity)
    yield "the learner's output", _cut(str(replies_of(run, exam).get(name, "")))
    score, judge = exam.answers.filter(question_id=name).select("score", "judge").row(0)
    yield "score", f"{score:g}, by {judge}"


def _memory(memory: MemoryAppended, similarity: float) -> Iterator[TableRow]:
    kind = f", {memory.kind}" if memory.kind else ""
    yield memory.outcome.replace("_", " ") + kind, f"iteration {memory.iteration}, cosine {similarity:.3f}"
    for field in ("question", "recognise", "reasoning", "wrong_answer", "answer"):
        if text := getattr(memory, field):
            yield f"  {field.replace('_', ' ')}", _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
