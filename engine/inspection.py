"""The verb `show`: one question exactly as it was asked, with the memories in its prompt and where they are from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mage_es.engine.courses import Act, Ask, Course, Fact, Finish, Look, Move, Use, advance, begin
from mage_es.engine.embedders.late import LateEmbedder
from mage_es.engine.judging import judged
from mage_es.engine.moves import (
    BundleMember,
    CallReport,
    MoveReport,
    QuestionReport,
    SearchReport,
    Source,
    StepReport,
    ToolReport,
    TrimReport,
)
from mage_es.engine.opening import World, first_event, reopen_world
from mage_es.engine.rules.trimming import without
from mage_es.engine.runs import Run
from mage_es.engine.ways import planned_course
from mage_es.events.digests import sha256_text
from mage_es.events.envelope import Record
from mage_es.events.errors import UsageError, nearest
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import (
    AnswerJudged,
    AnswerUnanswered,
    BundleTrimmed,
    EpisodeClosed,
    EpisodeStepped,
    Event,
    ExamStarted,
    ModelCalled,
    QuestionPlanned,
    SearchAnswered,
    ToolRan,
)
from mage_es.projections.fold import State, fold
from mage_es.projections.snapshots import latest_snapshot

_FACTS: set[type[Event]] = {
    ModelCalled,
    BundleTrimmed,
    ToolRan,
    SearchAnswered,
    EpisodeStepped,
    EpisodeClosed,
    AnswerJudged,
    AnswerUnanswered,
}


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
    ever = _askings(run, reader, question_id)
    times = [asking for asking in ever if iteration in (None, asking.planned.iteration)]
    if not times:
        raise UsageError(_not_then(reader, ever, iteration) if ever else _never_asked(reader, question_id))
    asking = times[-1]
    world = reopen_world(reader, data_dir=data_dir, embedder=LateEmbedder(first_event(reader)))
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
        Asking(_place(record), reader, record, record.event, record.commit - 1)
        for record in reader.records({QuestionPlanned})
        if isinstance(record.event, QuestionPlanned) and record.event.question_id == question_id
    ]
    for sat in run.exams():
        exam, state_seq = LogReader(sat.log_path), 0
        for record in exam.records({ExamStarted, QuestionPlanned}):
            if isinstance(record.event, ExamStarted):
                state_seq = record.event.head_seq
            elif isinstance(record.event, QuestionPlanned) and record.event.question_id == question_id:
                found.append(Asking(f"exam {sat.path.name}", exam, record, record.event, state_seq))
    return found


def _report(run: Run, world: World, state: State, asking: Asking, others: list[str]) -> QuestionReport:
    planned, question, facts = asking.planned, world.questions[asking.planned.question_id], _facts(asking)
    has_judge = any(isinstance(fact, ModelCalled) and fact.tier == "judge" for fact in facts)
    course = judged(planned_course(world, state, planned), question, benchmark=world.benchmark, has_judge=has_judge)
    moves = walk(course, state, facts)
    calls = [move for move in moves if isinstance(move, CallReport)]
    trimmed = [move for move in moves if isinstance(move, TrimReport)]
    first = begin(planned_course(world, state, planned))
    is_as_planned = isinstance(first, Ask) and sha256_text(first.request.prompt) == planned.prompt_sha256
    last = [call for call in calls if call.tier == "execution"][-1]
    verdict = next((fact for fact in facts if isinstance(fact, AnswerJudged)), None)
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
        bundle=bundle_of(state, without(planned, {trim.memory_id for trim in trimmed})),
        prompt=last.prompt,
        prompt_verified=is_as_planned and all(m.verified for m in calls) and all(m.verified for m in trimmed),
        reply=last.reply,
        answer=verdict.answer if verdict else "",
        expected=verdict.expected if verdict else question.gold,
        correct=verdict.correct if verdict else None,
        judge=verdict.judge if verdict else "",
        unanswered=next((fact.problem for fact in facts if isinstance(fact, AnswerUnanswered)), ""),
        moves=tuple(moves),
        seq=asking.record.seq,
        other_times=tuple(others),
    )


def walk(course: Course, state: State, facts: Sequence[Event]) -> list[MoveReport]:
    """Lead a course through recorded facts and return its moves, as far as they are recorded.

    A call is found by whom it asked about what, so a prompt that renders differently now is noticed, not missed.
    """
    move, moves, left = begin(course), list[MoveReport](), list(facts)
    while not isinstance(move, Finish):
        fact = next((fact for fact in left if _is_of(fact, move)), None)
        moves.append(report_of(move, state, fact))
        if fact is None:
            break
        left.remove(fact)
        assert isinstance(fact, Fact)
        move = advance(course, fact)
    return moves


def report_of(move: Move, state: State, fact: Event | None) -> MoveReport:
    """Return a move and what came of it; without a fact nothing did yet, and nothing speaks against the prompt."""
    match move:
        case Ask() if isinstance(fact, BundleTrimmed):
            return TrimReport(
                about=move.about,
                memory_id=fact.memory_id,
                problem=fact.problem,
                verified=fact.request_sha256 == move.request.sha256,
            )
        case Ask():
            called = fact if isinstance(fact, ModelCalled) else None
            spans = (Source(offset=span.offset, length=span.length, source=span.source) for span in move.spans)
            return CallReport(
                about=move.about,
                tier=move.tier,
                agent=move.agent,
                prompt=move.request.prompt,
                verified=called is None or called.request_sha256 == move.request.sha256,
                sources=tuple(spans),
                reply=called.text if called else "",
                served_by=called.served_by if called else "",
            )
        case Use():
            ran = fact if isinstance(fact, ToolRan) else None
            return ToolReport(
                tool_id=move.tool_id,
                name=state.tools.tool(move.tool_id).name,
                arguments=move.arguments,
                result=ran.result if ran else "",
                problem=ran.problem if ran else "",
            )
        case Look():
            answered = fact if isinstance(fact, SearchAnswered) else None
            return SearchReport(
                search=answered.search if answered else "",
                query=move.query,
                titles=answered.titles if answered else (),
                is_there=bool(answered and answered.texts),
            )
        case Act(acted):
            if isinstance(acted, EpisodeStepped):
                return StepReport(step=acted.step, action=acted.action, observation=acted.observation)
            return StepReport(step=acted.steps, action="", observation="The episode ends.")


def _is_of(fact: Event, move: Move) -> bool:
    """Return whether a recorded fact is what a move led to."""
    match move, fact:
        case Ask(), ModelCalled():
            return (fact.tier, fact.about, fact.attempt) == (move.tier, move.about, move.attempt)
        case Ask(), BundleTrimmed():
            return fact.about == move.about and move.droppable[:1] == (fact.memory_id,)
        case Use(), ToolRan():
            return (fact.tool_id, fact.arguments) == (move.tool_id, move.arguments)
        case Look(), SearchAnswered():
            return fact.place == move.place
        case Act(EpisodeStepped() as stepped), EpisodeStepped():
            return fact.step == stepped.step
        case Act(EpisodeClosed()), EpisodeClosed():
            return True
        case _:
            return False


def _facts(asking: Asking) -> list[Event]:
    """Return what the log has of a question after its plan, up to its verdict or to its end without one."""
    name, when = asking.planned.question_id, (asking.record.iteration, asking.record.phase)
    facts: list[Event] = []
    for record in asking.reader.records(_FACTS, since=asking.record.seq):
        if (record.iteration, record.phase) == when and _is_about(record.event, name):
            facts.append(record.event)
            if isinstance(record.event, AnswerJudged | AnswerUnanswered):
                break
    return facts


def _is_about(event: Event, name: str) -> bool:
    match event:
        case ModelCalled():
            return event.about == name or event.about.startswith(f"{name}/")
        case EpisodeStepped() | EpisodeClosed():
            return event.episode_id == name
        case ToolRan() | SearchAnswered() | BundleTrimmed() | AnswerJudged() | AnswerUnanswered():
            return event.question_id == name
        case _:
            return False


def _place(record: Record) -> str:
    return f"{'start' if record.iteration < 0 else f'iter-{record.iteration}'}/{record.phase}"


def _not_then(reader: LogReader, ever: Sequence[Asking], iteration: int | None) -> str:
    name, places = ever[0].planned.question_id, ", ".join(asking.where for asking in ever)
    return f"The question {name!r} was not asked in iteration {iteration} in {reader.run}, but in: {places}."


def _never_asked(reader: LogReader, question_id: str) -> str:
    asked = {
        record.event.question_id
        for record in reader.records({QuestionPlanned})
        if isinstance(record.event, QuestionPlanned)
    }
    hint = nearest(question_id, sorted(asked)) if len(asked) < 20 or _has_match(question_id, asked) else ""
    example = f" An example of one that was: {min(asked)}." if asked and not hint else hint
    return f"The question {question_id!r} was not asked in {reader.run}.{example} Another run is named with --run."


def _has_match(name: str, known: set[str]) -> bool:
    return nearest(name, sorted(known)).startswith(" Did you mean")
