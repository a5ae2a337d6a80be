"""The verb `show`: a question exactly as it was asked, with the memories in its prompt and their origin."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.askings.requests import Requests
from mage_es.engine.commands import shared
from mage_es.engine.courses import Ask, Finish, begin
from mage_es.engine.embedders.registry import LateEmbedder
from mage_es.engine.rules.ingredients import without
from mage_es.engine.rules.prompt import NOTES
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.exams import exam_records, number_of
from mage_es.engine.run.inheriting import inheritance, is_served
from mage_es.engine.run.world import (
    World,
    baseline_of,
    first_event,
    reopen_world,
    require_scoring,
    state_of,
    templates_of,
)
from mage_es.engine.seams.benchmark import Benchmark, Question, scored
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.served.frozen import BundleMember, bundle_of
from mage_es.engine.served.inferences import InferenceReport, explained, recorded
from mage_es.engine.session.course_choice import planned_course
from mage_es.engine.verbs.decorators import typed
from mage_es.engine.viewing.transcript import ABOUT, ENDS, CallReport, MoveReport, TrimReport, course_taken, walk
from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.errors import MageError, UsageError, nearest
from mage_es.events.log import LogReader
from mage_es.events.log.markers import Marker
from mage_es.projections.fold import State


class QuestionReport(msgspec.Struct, frozen=True, kw_only=True):
    """A question as it was asked: its bundle, every move with its exact prompt, the verdict.

    `prompt` and `reply` are those of the execution tier's last call; `prompt_verified`: every prompt, as sent, has its
    recorded hash, and the first one the plan's. `judge` is what decided: `rule` or a judge's model; `unanswered` is the
    problem of a question without an answer, `undecided` why an answer is neither right nor wrong, `why` what the scorer
    says about the reply; `exam` is the exam that asked it, "" for the run itself. `expected` is None in a copy without
    gold answers. `rejudged` is the verdict on an exam's answer that was scored again, None if it was not.
    """

    run_id: str
    question_id: str
    iteration: int
    purpose: str
    task_type: str
    skill: str
    search_arm: str
    search_probability: float
    routing_arm: str
    routing_probability: float
    bundle: tuple[BundleMember, ...]
    prompt: str
    prompt_verified: bool
    reply: str
    answer: str
    expected: str | None
    correct: bool | None
    moves: tuple[MoveReport, ...]
    seq: int
    other_times: tuple[str, ...]
    judge: str = "rule"
    unanswered: str = ""
    undecided: str = ""
    why: str = ""
    exam: str = ""
    rejudged: bool | None = None


class Asking(NamedTuple):
    """One asking of a question, on the state after event `state_seq` of the run."""

    where: str
    reader: LogReader
    requests: Requests
    record: v.Record
    planned: v.QuestionPlanned
    state_seq: int
    exam: str = ""
    rejudged: bool | None = None


@typed
def show(
    run: Run | Path | str,
    question_id: str,
    *,
    iteration: int | None = None,
    exam: int | None = None,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
) -> QuestionReport:
    """Return the last asking of a question, in the run or its exams, or in the iteration or exam given.

    Raises:
        UsageError: The question was never asked; the message lists near matches.
    """
    run = as_run(run)
    reader = LogReader(run.log_path)
    ever = _askings(run, reader, question_id)
    times = [
        asking
        for asking in ever
        if iteration in (None, asking.planned.iteration) and exam in (None, number_of(asking.exam))
    ]
    if not ever:
        raise UsageError(_never_asked(reader, question_id))
    if not times:
        when, places = f"exam {exam}" if exam is not None else f"iteration {iteration}", (each.where for each in ever)
        raise UsageError(
            f"The question {question_id!r} was not asked in {when} in {reader.run}, but in: {', '.join(places)}."
        )
    asking = times[-1]
    world = reopen_world(reader, data_dir=data_dir, benchmark=benchmark, embedder=LateEmbedder(first_event(reader)))
    if baseline_of(reader):
        require_scoring(world, "what a baseline asked")
    state = state_of(run, reader, until=asking.state_seq)
    return _report(run, world, state, asking, [other.where for other in times[:-1]])


def has_served(run: Run) -> bool:
    """Return whether a name may mean an inference: a run of own tasks can have a question with that name."""
    return is_served(LogReader(run.log_path))


@typed
def show_inference(run: Run | Path | str, name: str) -> InferenceReport:
    """Return an inference of a served run, with its note rendered again. Raises `NotFound`."""
    run = as_run(run)
    reader = LogReader(run.log_path)
    found = recorded(reader, name)
    state = state_of(run, reader, until=reader.resolve(str(Marker("iteration", found.opened.marker))))
    return explained(run.id, state, found, preface=templates_of(first_event(reader)).get(NOTES, ""))


def _askings(run: Run, reader: LogReader, question_id: str) -> list[Asking]:
    found, sent = list[Asking](), Requests(reader)
    for record, planned in _plans(reader, question_id):
        when = "start" if record.iteration < 0 else f"iter-{record.iteration}"
        found.append(Asking(f"{when}/{record.phase}", reader, sent, record, planned, record.commit - 1))
    for taken in exam_records(reader):
        if not taken.is_there(run):
            continue  # `verify` complains about that
        name, head, own = taken.opened.exam, taken.opened.head_seq, taken.log(run)
        sent = Requests(own, run=reader, head_seq=head)
        anew = {each.question_id: each.correct for each in taken.rejudged.verdicts} if taken.rejudged else {}
        found += [
            Asking(f"exam {name}", own, sent, record, planned, head, name, anew.get(question_id))
            for record, planned in _plans(own, question_id)
        ]
    return found


def _plans(reader: LogReader, question_id: str) -> Iterator[tuple[v.Record, v.QuestionPlanned]]:
    for record in reader.records({v.QuestionPlanned}):
        if isinstance(record.event, v.QuestionPlanned) and record.event.question_id == question_id:
            yield record, record.event


def _report(run: Run, world: World, state: State, asking: Asking, others: list[str]) -> QuestionReport:
    planned, question, facts = asking.planned, world.questions[asking.planned.question_id], _facts(asking)
    moves = walk(course_taken(world, state, planned, facts), state, facts, asking.requests)
    calls = [move for move in moves if isinstance(move, CallReport)]
    trimmed = [move for move in moves if isinstance(move, TrimReport)]
    sent = (fact.sent for fact in facts if isinstance(fact, v.ModelCalled | v.CallFailed) and fact.tier == "execution")
    # A call that was not made, or is still open, is shown as it would be made now.
    first = begin(planned_course(world, state, planned))
    request = asking.requests.request(next(sent, v.Sent())) or (first.request if isinstance(first, Ask) else None)
    is_as_planned = (sha256_text(request.text) if request else "") == planned.prompt_sha256
    last = next((call for call in reversed(calls) if call.tier == "execution"), None)
    text = last.reply if last else first.reply if isinstance(first, Finish) else ""
    verdict = next((fact for fact in facts if isinstance(fact, v.AnswerJudged)), None)
    open_ = next((fact for fact in facts if isinstance(fact, v.AnswerUndecided)), None)
    return QuestionReport(
        **shared(planned, QuestionReport),
        run_id=run.id,
        exam=asking.exam,
        rejudged=asking.rejudged,
        bundle=bundle_of(state, without(planned, {trim.memory_id for trim in trimmed})),
        prompt=last.prompt if last else "",
        prompt_verified=is_as_planned and all(m.verified for m in calls) and all(m.verified for m in trimmed),
        reply=text,
        answer=verdict.answer if verdict else open_.answer if open_ else "",
        expected=question.gold if world.has_gold else None,
        correct=verdict.correct if verdict else None,
        judge=verdict.judge if verdict else "",
        unanswered=next((fact.problem for fact in facts if isinstance(fact, v.AnswerUnanswered)), ""),
        undecided=open_.problem if open_ else "",
        why=_why(world, question, text, verdict) if verdict else "",
        moves=tuple(moves),
        seq=asking.record.seq,
        other_times=tuple(others),
    )


def _why(world: World, question: Question, reply: str, verdict: v.AnswerJudged) -> str:
    """Return what the scorer says about a reply, "" if it says nothing, or is not available."""
    if not world.has_gold or is_sequential(world.benchmark):
        return ""
    try:
        now = scored(world.benchmark, question, reply)
    except MageError:
        return ""
    # A verdict by a judge, or on another text than the last reply, has other reasons.
    is_same = (now.by, now.answer, now.correct) == (verdict.judge, verdict.answer, verdict.correct)
    return now.why if is_same and not now.undecided else ""


def _facts(asking: Asking) -> list[v.Event]:
    """Return the events of a question after its plan, up to its verdict or its last failed call."""
    name, when = asking.planned.question_id, (asking.record.iteration, asking.record.phase)
    facts: list[v.Event] = []
    for record in asking.reader.records(set(ABOUT), since=asking.record.seq):
        field = ABOUT[type(record.event)]
        about = getattr(record.event, field)
        is_about = about == name or (field == "about" and about.startswith(f"{name}/"))
        if is_about and (record.iteration, record.phase) == when:
            facts.append(record.event)
            if isinstance(record.event, ENDS):
                break
    return facts


def _never_asked(reader: LogReader, question_id: str) -> str:
    if (begun := inheritance(reader)) and any(
        judged.question_id == question_id for judged in reader.of(v.AnswerJudged)
    ):
        return (
            f"The question {question_id!r} was asked by {begun.parent}, from which {reader.run} goes on: "
            f"`mage-es show {question_id} {begun.parent}`."
        )
    asked = {plan.question_id for plan in reader.of(v.QuestionPlanned)}
    near = nearest(question_id, sorted(asked), rest=f"`mage-es view {reader.run}` lists those that it asked.")
    return f"The question {question_id!r} was not asked in {reader.run}.{near} Name another run after the question."
