"""The verb `show`: one question exactly as it was asked, with the memories in its prompt and where they are from."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mage_es.engine.courses import Ask, begin
from mage_es.engine.opening import World, reopen_world
from mage_es.engine.reports import BundleMember, QuestionReport
from mage_es.engine.runs import Run
from mage_es.events.digests import sha256_text
from mage_es.events.envelope import Record
from mage_es.events.errors import UsageError, nearest
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import AnswerJudged, ExamStarted, ModelCalled, QuestionPlanned
from mage_es.projections.fold import State, fold
from mage_es.projections.snapshots import latest_snapshot


class Asking(NamedTuple):
    """One time that a question was asked: in which log, by which plan, on the state after which event."""

    where: str
    reader: LogReader
    record: Record
    planned: QuestionPlanned
    state_seq: int


def show(run: Run, question_id: str, *, iteration: int | None, data_dir: Path | None) -> QuestionReport:
    """Return the last time that a question was asked (in an iteration, if one is given), in the run or its exams.

    Raises:
        UsageError: The question was never asked; near matches are listed.
    """
    reader = LogReader(run.log_path)
    times = [asking for asking in _askings(run, reader, question_id) if iteration in (None, asking.planned.iteration)]
    if not times:
        raise UsageError(_never_asked(reader, question_id, iteration))
    asking = times[-1]
    world = reopen_world(reader, data_dir=data_dir)
    snapshot = latest_snapshot(run.snapshots_path, reader, until=asking.state_seq)
    state = fold(reader, until=asking.state_seq, state=snapshot)
    return _report(run, world, state, asking, [other.where for other in times[:-1]])


def bundle_of(state: State, planned: QuestionPlanned) -> tuple[BundleMember, ...]:
    """Return the memories of a bundle with their origin."""
    members = []
    for hit in planned.memories:
        row = state.memory.row(hit.memory_id)
        kind = f"{row.outcome} ({row.kind})" if row.kind else row.outcome
        members.append(
            BundleMember(
                memory_id=row.memory_id,
                outcome=kind,
                similarity=hit.similarity,
                origin=f"iter-{row.iteration}/{row.phase}, question {row.question_id}",
                question=row.question,
            )
        )
    return tuple(members)


def _askings(run: Run, reader: LogReader, question_id: str) -> list[Asking]:
    found = [
        Asking(f"iter-{record.iteration}/{record.phase}", reader, record, record.event, record.commit - 1)
        for record in reader.records({QuestionPlanned})
        if isinstance(record.event, QuestionPlanned) and record.event.question_id == question_id
    ]
    for path in sorted(run.exams_path.glob("*/log")):
        exam, state_seq = LogReader(path), 0
        for record in exam.records({ExamStarted, QuestionPlanned}):
            if isinstance(record.event, ExamStarted):
                state_seq = record.event.head_seq
            elif isinstance(record.event, QuestionPlanned) and record.event.question_id == question_id:
                found.append(Asking(f"exam {path.parent.name}", exam, record, record.event, state_seq))
    return found


def _report(run: Run, world: World, state: State, asking: Asking, others: list[str]) -> QuestionReport:
    planned, question = asking.planned, world.questions[asking.planned.question_id]
    first = begin(world.course(state, planned))
    prompt = first.request.prompt if isinstance(first, Ask) else ""
    reply, verdict = _outcome(asking)
    return QuestionReport(
        run_id=run.id,
        question_id=planned.question_id,
        iteration=planned.iteration,
        purpose=planned.purpose,
        task_type=planned.task_type,
        skill=planned.skill,
        search_arm=planned.search_arm,
        search_probability=planned.search_probability,
        routing_arm=planned.routing_arm,
        routing_probability=planned.routing_probability,
        bundle=bundle_of(state, planned),
        prompt=prompt,
        prompt_verified=sha256_text(prompt) == planned.prompt_sha256,
        reply=reply.text if reply else "",
        answer=verdict.answer if verdict else "",
        expected=verdict.expected if verdict else question.gold,
        correct=verdict.correct if verdict else None,
        seq=asking.record.seq,
        other_times=tuple(others),
    )


def _outcome(asking: Asking) -> tuple[ModelCalled | None, AnswerJudged | None]:
    reply, verdict = None, None
    for record in asking.reader.records({ModelCalled, AnswerJudged}, since=asking.record.seq):
        event, is_same_phase = (
            record.event,
            (record.iteration, record.phase)
            == (
                asking.record.iteration,
                asking.record.phase,
            ),
        )
        if not is_same_phase:
            continue
        if isinstance(event, ModelCalled) and event.about == asking.planned.question_id:
            reply = event
        elif isinstance(event, AnswerJudged) and event.question_id == asking.planned.question_id:
            verdict = event
    return reply, verdict


def _never_asked(reader: LogReader, question_id: str, iteration: int | None) -> str:
    asked = {
        record.event.question_id
        for record in reader.records({QuestionPlanned})
        if isinstance(record.event, QuestionPlanned)
    }
    when = "" if iteration is None else f" in iteration {iteration}"
    hint = nearest(question_id, sorted(asked)) if len(asked) < 20 or _has_match(question_id, asked) else ""
    example = f" An example of one that was: {min(asked)}." if asked and not hint else hint
    return f"The question {question_id!r} was not asked{when} in {reader.run}.{example}"


def _has_match(name: str, known: set[str]) -> bool:
    return nearest(name, sorted(known)).startswith(" Did you mean")
