"""Example bundles: an exam question of each benchmark, the memories in its prompt, and what the learner made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.reporting.cells import Entry, Table, columns
from mage_es.engine.reporting.judging import replies_of
from mage_es.engine.reporting.recorded import Recorded, Sat
from mage_es.engine.reporting.study import Study
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import MemoryAppended, QuestionPlanned

_LONGEST = 600
"""Characters of a text that the table shows."""


def bundles(study: Study) -> Table:
    """Return for the first full run of each benchmark the right answer whose bundle has most kinds of memories."""
    body: list[tuple[Entry, ...]] = []
    shown: set[str] = set()
    for place in study.full():
        for seed, exam in study.exams(place).items():
            if place.benchmark not in shown and (planned := _richest(study.at(place)[seed], exam)):
                shown.add(place.benchmark)
                body += [(place.benchmark, *row) for row in _rows(study, study.at(place)[seed], exam, planned)]
    return Table(
        name="bundles",
        title="Retrieved memory bundles",
        place="tab:bundle_example, tab:bundle_example_hotpotqa",
        measure="one exam question for each benchmark: of those answered right the one with most kinds of memories "
        f"in its prompt; texts are cut at {_LONGEST} characters",
        columns=columns("Benchmark", "Part", "Text"),
        rows=tuple(body),
    )


def _richest(run: Recorded, exam: Sat) -> QuestionPlanned | None:
    """Return the plan of the right answer with most kinds of memories, then most memories, then the smallest id."""
    outcomes = _kinds(run)
    reader = LogReader(run.run.exams_path / exam.name / "log")
    plans = [
        record.event
        for record in reader.records({QuestionPlanned})
        if isinstance(record.event, QuestionPlanned) and record.event.memories
    ]
    right = [plan for plan in plans if exam.answers.get(plan.question_id) and exam.answers[plan.question_id].correct]
    return min(
        right,
        key=lambda plan: (
            -len({outcomes.get(hit.memory_id) for hit in plan.memories}),
            -len(plan.memories),
            plan.question_id,
        ),
        default=None,
    )


def _kinds(run: Recorded) -> Mapping[str, tuple[str, str]]:
    events = run.reader.events({MemoryAppended: ("memory_id", "outcome", "kind")})
    return {e.memory_id: (e.outcome, e.kind) for _, e in events if isinstance(e, MemoryAppended)}


def _rows(study: Study, run: Recorded, exam: Sat, planned: QuestionPlanned) -> Sequence[tuple[str, str]]:
    reply = str(replies_of(run, exam).get(planned.question_id, ""))
    rows = [
        ("question", _question(study, run, planned.question_id)),
        ("task type / skill", f"{planned.task_type} / {planned.skill}"),
        ("search arm / route", f"{planned.search_arm} / {planned.routing_arm}"),
    ]
    wanted = {hit.memory_id: hit.similarity for hit in planned.memories}
    found = {
        record.event.memory_id: record.event
        for record in run.reader.records({MemoryAppended})
        if isinstance(record.event, MemoryAppended) and record.event.memory_id in wanted
    }
    for name, similarity in wanted.items():
        rows += _memory(found[name], similarity)
    verdict = exam.answers[planned.question_id]
    return [*rows, ("the learner's output", _cut(reply)), ("score", f"{verdict.score:g}, by {verdict.judge}")]


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


def _question(study: Study, run: Recorded, name: str) -> str:
    """Return the question's text; its id where the data that it is from is not at hand."""
    try:
        benchmark = open_benchmark(run.begun.benchmark, seed=run.begun.seed, data_dir=study.data_dir)
    except (PrerequisiteError, UsageError):
        return f"{name} (its text is in the data set, not in the log)"
    texts = {question.id: question.question for question in benchmark.questions("test")}
    return _cut(texts.get(name, name))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
