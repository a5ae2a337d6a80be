"""The verb `exam`: a run's frozen state on questions that it never saw.

Rules
    - The exam has a log of its own; not a byte of the run's log changes.
    - It is given no guidance model; the report counts the calls of its own log to show it.
    - The bandits are frozen (best arm by posterior mean), and nothing is learned.
    - An exam that was cut off is gone on with by setting it again: same state, questions, control and models. What is
      recorded of it is not asked again, and its budget is one for all its sessions.
    - The control `shuffled` gives every question the memories that a question of another task type would have
      got: what is left of the gain then is not due to what the memories say.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

import msgspec

from mage_es import __version__
from mage_es.engine.commands import Asked, PlanAnswers
from mage_es.engine.config import Config, canonical
from mage_es.engine.embedders.protocol import Embedder
from mage_es.engine.embedders.registry import metered
from mage_es.engine.judging import NOBODY
from mage_es.engine.models.registry import open_model
from mage_es.engine.models.seam import Model
from mage_es.engine.opening import World, reopen_world
from mage_es.engine.reports import ExamReport, GroupScore
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.runs import Run, clock
from mage_es.engine.runtime import Runtime
from mage_es.engine.session import Models, Session
from mage_es.engine.summary import episode_rows
from mage_es.events.envelope import Draft, Record
from mage_es.events.errors import BudgetReached, Interrupted, RunLocked, UsageError, nearest
from mage_es.events.log import Log
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import (
    AnswerJudged,
    AnswerUnanswered,
    EmbeddingCalled,
    Event,
    ExamClosed,
    ExamStarted,
    ModelCalled,
    Purpose,
    QuestionPlanned,
    RunResumed,
)
from mage_es.projections.fold import State, fold
from mage_es.projections.ledger import Ledger
from mage_es.projections.snapshots import latest_snapshot

CONTROLS = ("none", "shuffled")
_REPORTED: set[type[Event]] = {ExamStarted, AnswerJudged, AnswerUnanswered, ModelCalled, EmbeddingCalled}


def examine(
    run: Run,
    *,
    at: str,
    questions: int | None,
    control: str,
    data_dir: Path | None,
    runtime: Runtime,
    execution: Model | None = None,
    judge: Model | None = None,
    embedder: Embedder | None = None,
) -> ExamReport:
    """Examine a run at a marker on the first `questions` of its held-out split (default: all of it).

    `execution`, `judge` and `embedder` take the place of those that the run's configuration names.

    Raises:
        UsageError: An unknown marker or control, more questions than are held out, all of one task type for the control
            `shuffled`, or dollars are limited and a model has no price.
        Interrupted: The runtime's `stop` turned true, or its `limits` are reached; the same exam set again goes on.
    """
    if control not in CONTROLS:
        raise UsageError(f"There is no control {control!r}.{nearest(control, list(CONTROLS))}")
    began = time.perf_counter()
    reader = LogReader(run.log_path)
    seq = reader.resolve(at)
    world = reopen_world(reader, data_dir=data_dir, embedder=embedder)
    names = _chosen(world, questions)
    if control == "shuffled":
        _require_types(world, names)
    models = _models(world.setting.config, execution, judge)
    runtime.require_prices({**models.names(), **metered(world.setting.config.embedder)})
    state = fold(reader, until=seq, state=latest_snapshot(run.snapshots_path, reader, until=seq))
    require_ontology(state, at)
    started = _started(run, reader, world, state, at=at, seq=seq, control=control)
    # From here on the state takes in the exam's own records and calls, which both count from the beginning.
    state.seq = 0
    state.ledger.load(Ledger().dump())
    exam, log = _unfinished(run, started, names, models) or _new_exam(run, at, control)
    with log:
        recorded = list(LogReader(exam.log_path).records())
        for record in recorded:
            state.apply(record.event)
            state.seq = record.seq
        session = Session(run=exam, world=world, log=log, state=state, models=models, runtime=runtime)
        session.commit([_beginning(session, started, recorded)])
        asyncio.run(_sit(session, names, control))
        session.commit([Draft(event=_closed(session), iteration=-1, phase="exam")])
    return read_exam(run, exam, world, seconds=time.perf_counter() - began)


def require_ontology(state: State, marker: str) -> None:
    """Raise `UsageError` for a moment so early that no skill could resolve a question yet."""
    if not state.graph.skills():
        raise UsageError(
            f"At {marker} the run had no skills and no task types yet: name `start` or a later moment. "
            "A baseline never has any; what it came to is told by `mage-es report`."
        )


def donors(asked: Sequence[Asked], seed: int) -> Mapping[str, Asked]:
    """Return for each question another one of a different task type (the next such in a seeded order)."""
    order = shuffled(sorted(asked, key=lambda a: a.question.id), seed, purpose="exam.donors")
    found = {}
    for place, receiver in enumerate(order):
        for other in (*order[place + 1 :], *order[:place]):
            if other.task_type != receiver.task_type:
                found[receiver.question.id] = other
                break
    return found


def read_exam(run: Run, exam: Run, world: World, *, seconds: float = 0.0) -> ExamReport:
    """Return the report of an exam from its log."""
    reader = LogReader(exam.log_path)
    events = [record.event for record in reader.records(_REPORTED)]
    started = next(event for event in events if isinstance(event, ExamStarted))
    answers = sorted((e for e in events if isinstance(e, AnswerJudged)), key=lambda e: e.question_id)
    tiers = [event.tier for event in events if isinstance(event, ModelCalled)]
    known = _families(world)
    familiar = [a for a in answers if world.questions[a.question_id].family in known]
    unfamiliar = [a for a in answers if world.questions[a.question_id].family not in known]
    types = sorted({answer.task_type for answer in answers})
    return ExamReport(
        run_id=run.id,
        exam_id=exam.path.name,
        marker=started.marker,
        control=started.control,
        correct=sum(answer.correct for answer in answers),
        total=len(answers),
        familiar=_score("familiar", familiar) if known else None,
        unfamiliar=_score("unfamiliar", unfamiliar) if known else None,
        task_types=tuple(_score(name, (a for a in answers if a.task_type == name)) for name in types),
        execution_calls=tiers.count("execution"),
        guidance_calls=tiers.count("guidance"),
        seconds=seconds,
        task_type_source="metadata" if world.typing.source == "metadata" else "input",
        episodes=episode_rows(reader),
        answers=tuple((answer.question_id, answer.correct) for answer in answers),
        judge_calls=tiers.count("judge"),
        embedder_calls=sum(isinstance(event, EmbeddingCalled) for event in events),
        unanswered=sum(isinstance(event, AnswerUnanswered) for event in events),
        undecided=sum(answer.judge == NOBODY for answer in answers),
    )


def _models(config: Config, execution: Model | None, judge: Model | None) -> Models:
    """Return the models of an exam: those that are handed in, else the run's own, and never one for guidance."""
    judge = judge or (open_model(config.judge, "judge") if config.judge else None)
    return Models(execution or open_model(config.execution, "execution"), None, judge)


def _started(
    run: Run, reader: LogReader, world: World, state: State, *, at: str, seq: int, control: str
) -> ExamStarted:
    return ExamStarted(
        run_id=run.id,
        marker=at,
        head_seq=seq,
        head_chain=reader.head.chain if seq == reader.head.seq else "",
        control=control,
        config=canonical(world.setting.config),
        digests=state.digests(),
    )


async def _sit(session: Session, names: Sequence[str], control: str) -> None:
    session.enter(-1, "exam")
    if not session.state.progress.plans("exam"):
        purposes: dict[str, Purpose] = dict.fromkeys(names, "exam")
        asked = session.asked(purposes)
        swapped = donors(asked, session.world.setting.config.seed) if control == "shuffled" else {}
        session.do(PlanAnswers(iteration=-1, phase="exam", asked=asked, frozen=True, donors=swapped))
    try:
        async with aclosing(session):
            await session.answer(-1, "exam")
    except BudgetReached:
        raise
    except Interrupted:
        raise Interrupted("The exam was stopped. Set it again, and it goes on with what is recorded.") from None


def _closed(session: Session) -> ExamClosed:
    known = _families(session.world)
    verdicts = session.state.progress.verdicts("exam")
    familiar = [v for v in verdicts if session.world.questions[v.question_id].family in known]
    return ExamClosed(
        correct=sum(verdict.correct for verdict in verdicts),
        total=len(verdicts),
        familiar_correct=sum(verdict.correct for verdict in familiar),
        familiar_total=len(familiar),
        unanswered=len(session.state.progress.unanswered("exam")),
    )


def _require_types(world: World, names: Sequence[str]) -> None:
    """Raise `UsageError` where no question could be given the memories of another task type."""
    types = set(world.typing.types_of([world.questions[name] for name in names]))
    if len(types) < 2:
        raise UsageError(
            f"All questions of this exam are of the task type {', '.join(types)}: there is no other whose memories "
            "they could be given. Set the exam without --control shuffled."
        )


def _chosen(world: World, count: int | None) -> Sequence[str]:
    held_out = world.setting.held_out
    if count is not None and not 0 < count <= len(held_out):
        raise UsageError(
            f"An exam of {count} questions cannot be set: this run holds out {len(held_out)}. Ask for 1 to "
            f"{len(held_out)}, or leave the number out."
        )
    return held_out[:count]


def _families(world: World) -> set[str]:
    """Return the phrasing families that evolution questions show; empty where the benchmark has none."""
    return {world.questions[name].family for name in world.setting.evolution} - {""}


def _score(name: str, answers: Iterable[AnswerJudged]) -> GroupScore:
    correct = [answer.correct for answer in answers]
    return GroupScore(name=name, correct=sum(correct), total=len(correct))


def _beginning(session: Session, started: ExamStarted, recorded: Sequence[Record]) -> Draft:
    """Return the event that an exam begins with, or goes on with where some of it is recorded."""
    if not recorded:
        return Draft(event=started, iteration=-1, phase="exam")
    session.find_plans(recorded)
    progress = session.state.progress
    settled = sum(progress.is_settled("exam", planned.question_id) for planned in progress.plans("exam"))
    session.say_gone_on(f"Going on with the exam {session.run.id}: {settled} of its questions are settled already.")
    attempt = 1 + sum(isinstance(record.event, RunResumed) for record in recorded)
    resumed = RunResumed(package_version=__version__, attempt=attempt)
    return Draft(event=resumed, iteration=-1, phase="log", ordinal=attempt)


def _unfinished(run: Run, started: ExamStarted, names: Sequence[str], models: Models) -> tuple[Run, Log] | None:
    """Return the newest exam that is the same and did not come to its end, opened; None without one.

    One that another process is sitting just now is left to it.
    """
    for exam in reversed(run.exams()):
        if not _is_same(LogReader(exam.log_path), started, names, models):
            continue
        with suppress(RunLocked):
            log = Log.open(exam.log_path, clock=clock)
            # Asked again now that nobody else writes: whoever sat it just now may have come to its end meanwhile.
            if _is_same(LogReader(exam.log_path), started, names, models):
                return exam, log
            log.close()
    return None


def _is_same(exam: LogReader, started: ExamStarted, names: Sequence[str], models: Models) -> bool:
    """Return whether an exam is open and asks the same questions of the same state and models."""
    types: set[type[Event]] = {ExamStarted, ExamClosed, QuestionPlanned, ModelCalled}
    events = [record.event for record in exam.records(types)]
    begun = next((event for event in events if isinstance(event, ExamStarted)), None)
    if begun is None or any(isinstance(event, ExamClosed) for event in events):
        return False
    # The marker is only a name for the state, and the chain stands there only where that is the latest.
    agreed = msgspec.structs.replace(begun, marker=started.marker, head_chain=started.head_chain) == started
    planned = {event.question_id for event in events if isinstance(event, QuestionPlanned)}
    called = {(event.tier, event.model) for event in events if isinstance(event, ModelCalled)}
    return agreed and planned in (set(), set(names)) and called <= {(t, m.name) for t, m in models.by_tier().items()}


def _new_exam(run: Run, at: str, control: str) -> tuple[Run, Log]:
    run.exams_path.mkdir(exist_ok=True)
    suffix = at.replace("/", "-").replace(":", "-") + ("" if control == "none" else f"-{control}")
    ordinal = 1 + max((int(path.name[:4]) for path in run.exams_path.glob("[0-9][0-9][0-9][0-9]-*")), default=0)
    while True:
        exam = run.exam(f"{ordinal:04d}-{suffix}")
        try:
            exam.path.mkdir()
        except FileExistsError:  # another process set one just now
            ordinal += 1
        else:
            return exam, Log.create(exam.log_path, run=exam.id, clock=clock)
