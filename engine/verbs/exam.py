"""The verb `exam`: test a run's frozen state on questions that it never saw.

Rules
    - Not a byte of the run's log changes. The bandits are frozen (best arm by posterior mean), and nothing is learned.
    - A budget is one for all sessions of an exam.
    - The control `shuffled` gives every question the memories that a question of another task type would have
      got: what is left of the gain then is not due to what the memories say.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from contextlib import aclosing, suppress
from pathlib import Path

import msgspec

from mage_es import __version__
from mage_es.engine.commands import Asked, PlanAnswers
from mage_es.engine.config import canonical
from mage_es.engine.embedders.registry import metered
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.run.directory import Run, as_run, clock
from mage_es.engine.run.exams import interval, read_exam, reasons
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import World, reopen_world, require_gold, state_of
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.seams.model import Model
from mage_es.engine.session.session import Session
from mage_es.engine.verbs.forms import blocking
from mage_es.engine.verbs.runs import episode_rows
from mage_es.engine.verbs.summary import EpisodeRow
from mage_es.events.errors import BudgetReached, Interrupted, RunLocked, UsageError, nearest
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import (
    Draft,
    Event,
    ExamClosed,
    ExamStarted,
    ModelCalled,
    Purpose,
    QuestionPlanned,
    Record,
    RunResumed,
)
from mage_es.projections.fold import State
from mage_es.projections.ledger import Ledger


class GroupScore(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    correct: int
    total: int


class ExamReport(msgspec.Struct, frozen=True, kw_only=True):
    """An exam on questions that the run never saw.

    `unfamiliar` are the questions of phrasing families that occur only in the exam (None if the benchmark has no
    families). `answers` is (question id, correct) in id order, for paired comparisons. `interval` is the Wilson score
    interval of `correct` in `total` at 95 %. `undecided` answers, which neither the rule nor a judge could decide,
    count as wrong, by the kind of the reason, and so do `unanswered` questions, whose call failed for good, by the
    kind of the fault.
    """

    run_id: str
    exam_id: str
    marker: str
    control: str
    correct: int
    total: int
    familiar: GroupScore | None
    unfamiliar: GroupScore | None
    task_types: tuple[GroupScore, ...]
    execution_calls: int
    guidance_calls: int
    seconds: float
    task_type_source: str
    answers: tuple[tuple[str, bool], ...]
    judge_calls: int = 0
    undecided: dict[str, int] = {}
    unanswered: dict[str, int] = {}
    interval: tuple[float, float] | None = None
    episodes: tuple[EpisodeRow, ...] = ()
    embedder_calls: int = 0
    teacher_sees: str = ""


CONTROLS = ("none", "shuffled")


async def aexamine(
    run: Run | Path | str,
    *,
    at: str = "latest",
    questions: int | None = None,
    control: str = "none",
    data_dir: Path | str | None = None,
    runtime: Runtime | None = None,
    execution: Model | None = None,
    judge: Model | None = None,
    embedder: Embedder | None = None,
) -> ExamReport:
    """Examine a run at a marker on the first `questions` of its held-out split (default: all of it).

    `execution`, `judge` and `embedder` replace those of the run's configuration.

    [section 3.2, frozen inference] An exam has a log of its own and is given no guidance model.

    [section 4.1, exam] An exam that was cut off continues when it is set again with the same state, questions, control
    and models; no recorded call is repeated.

    Raises:
        UsageError: An unknown marker or control, more questions than are held out, all of one task type for the control
            `shuffled`, or dollars are limited and a model has no price.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the same call resumes it.
    """
    if control not in CONTROLS:
        raise UsageError(f"There is no control {control!r}.{nearest(control, list(CONTROLS))}")
    run, began, runtime = as_run(run), time.perf_counter(), runtime or Runtime()
    reader = LogReader(run.log_path)
    seq = reader.resolve(at)
    world = reopen_world(reader, data_dir=data_dir, embedder=embedder)
    require_gold(world, "an exam")
    names = _chosen(world, questions)
    config = world.setting.config
    judge = judge or (open_model(config.judge, "judge") if config.judge else None)
    models = Models(execution or open_model(config.execution, "execution"), None, judge)
    runtime.require_prices({**models.names(), **metered(config.embedder)})
    state = state_of(run, reader, until=seq)
    require_ontology(state, at)
    if control == "shuffled":
        _require_types(world, state, names)
    started = _started(run, reader, world, state, at=at, seq=seq, control=control)
    # From here on the state folds the exam's own log, whose sequence numbers and calls start at the beginning.
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
        await _sit(session, names, control)
        closed = exam_closed(session, _families(world))
        session.commit([Draft(event=closed, iteration=-1, phase="exam")])
    return _report(run, exam, world, seconds=time.perf_counter() - began)


examine = blocking(aexamine)


def require_ontology(state: State, marker: str) -> None:
    """Raises `UsageError` for a marker before the run had a skill."""
    if not state.graph.skills():
        raise UsageError(
            f"At {marker} the run had no skills and no task types yet: choose `start` or a later marker. "
            "A baseline never has any; `mage-es report` shows its results."
        )


def donors(asked: Sequence[Asked], seed: int) -> Mapping[str, Asked]:
    """Return for each question the next one of a different task type, in a seeded order."""
    order = shuffled(sorted(asked, key=lambda a: a.question.id), seed, purpose="exam.donors")
    found = {}
    for place, receiver in enumerate(order):
        for other in (*order[place + 1 :], *order[:place]):
            if other.task_type != receiver.task_type:
                found[receiver.question.id] = other
                break
    return found


def _report(run: Run, exam: Run, world: World, *, seconds: float) -> ExamReport:
    sat, known = read_exam(LogReader(exam.log_path), exam.path.name), _families(world)
    rows = sat.answers.select("question_id", "correct", "task_type").sort("question_id").rows()
    familiar, unfamiliar = list[bool](), list[bool]()
    by_type: dict[str, list[bool]] = {}
    for name, is_right, task_type in rows:
        (familiar if world.questions[name].family in known else unfamiliar).append(is_right)
        by_type.setdefault(task_type, []).append(is_right)
    return ExamReport(
        run_id=run.id,
        exam_id=sat.name,
        marker=sat.marker,
        control=sat.control,
        correct=int(sat.answers["correct"].sum()),
        total=len(rows),
        familiar=_score("familiar", familiar) if known else None,
        unfamiliar=_score("unfamiliar", unfamiliar) if known else None,
        task_types=tuple(_score(name, correct) for name, correct in sorted(by_type.items())),
        execution_calls=sat.ledger.total("execution").calls,
        guidance_calls=sat.ledger.total("guidance").calls,
        seconds=seconds,
        # Gold types are for evolution only.
        teacher_sees=world.setting.config.teacher_sees,
        task_type_source="input" if world.typing.source == "gold" else world.typing.source,
        episodes=episode_rows(LogReader(exam.log_path)),
        answers=tuple((name, is_right) for name, is_right, _ in rows),
        judge_calls=sat.ledger.total("judge").calls,
        embedder_calls=sat.ledger.total("embedder").calls,
        unanswered=reasons(sat.answers),
        interval=interval(int(sat.answers["correct"].sum()), len(rows)),
        undecided=reasons(sat.answers, "undecided"),
    )


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
    session.enter_phase(-1, "exam")
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
        raise Interrupted("The exam was stopped. Run the same command again to continue it.") from None


def exam_closed(session: Session, known: Set[str] = frozenset()) -> ExamClosed:
    """Return the event that ends an exam; questions of `known` phrasing families count as familiar."""
    verdicts, lost = session.state.progress.verdicts("exam"), session.state.progress.unanswered("exam")
    asked = dict.fromkeys((each.question_id for each in lost), False) | {v.question_id: v.correct for v in verdicts}
    familiar = [right for name, right in asked.items() if session.world.questions[name].family in known]
    return ExamClosed(
        correct=sum(asked.values()),
        total=len(asked),
        familiar_correct=sum(familiar),
        familiar_total=len(familiar),
        unanswered=len(lost),
    )


def _require_types(world: World, state: State, names: Sequence[str]) -> None:
    """Raises `UsageError` if all questions have one task type, so that none could get the memories of another."""
    types = set(world.typing.types_of([world.questions[name] for name in names], state.graph.induced_types()))
    if len(types) < 2:
        raise UsageError(
            f"All questions of this exam have the task type {', '.join(types)}, so there are no memories of another "
            "type to shuffle in. Run the exam without --control shuffled."
        )


def _chosen(world: World, count: int | None) -> Sequence[str]:
    held_out = world.setting.held_out
    if count is not None and not 0 < count <= len(held_out):
        raise UsageError(
            f"This run holds out {len(held_out)} questions, so an exam cannot have {count}. Choose 1 to "
            f"{len(held_out)}, or omit the number."
        )
    return held_out[:count]


def _families(world: World) -> set[str]:
    """Return the phrasing families of the evolution questions; none if the benchmark has no families."""
    return {world.questions[name].family for name in world.setting.evolution} - {""}


def _score(name: str, correct: Sequence[bool]) -> GroupScore:
    return GroupScore(name=name, correct=sum(correct), total=len(correct))


def _beginning(session: Session, started: ExamStarted, recorded: Sequence[Record]) -> Draft:
    if not recorded:
        return Draft(event=started, iteration=-1, phase="exam")
    session.remember_plans(recorded)
    progress = session.state.progress
    settled = sum(progress.is_settled("exam", planned.question_id) for planned in progress.plans("exam"))
    session.announce_continuation(
        f"Resuming the exam {session.run.id}: {settled} of its questions are settled already."
    )
    attempt = 1 + sum(isinstance(record.event, RunResumed) for record in recorded)
    resumed = RunResumed(package_version=__version__, attempt=attempt)
    return Draft(event=resumed, iteration=-1, phase="log", ordinal=attempt)


def _unfinished(run: Run, started: ExamStarted, names: Sequence[str], models: Models) -> tuple[Run, Log] | None:
    """Return the newest unfinished exam that is the same, opened; one that another process is writing is left alone."""
    for exam in reversed(run.exams()):
        if not _is_same(LogReader(exam.log_path), started, names, models):
            continue
        with suppress(RunLocked):
            log = Log.open(exam.log_path, clock=clock)
            # Checked again under the lock: another process may have finished it in the meantime.
            if _is_same(LogReader(exam.log_path), started, names, models):
                return exam, log
            log.close()
    return None


def _is_same(exam: LogReader, started: ExamStarted, names: Sequence[str], models: Models) -> bool:
    """Return whether an exam is unfinished and asks the same questions of the same state and models."""
    types: set[type[Event]] = {ExamStarted, ExamClosed, QuestionPlanned, ModelCalled}
    events = list(exam.of(*types))
    begun = next((event for event in events if isinstance(event, ExamStarted)), None)
    if begun is None or any(isinstance(event, ExamClosed) for event in events):
        return False
    # The marker is only a name for the state, and the chain is recorded only for the latest state.
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
        except FileExistsError:  # another process has just created it
            ordinal += 1
        else:
            return exam, Log.create(exam.log_path, run=exam.id, clock=clock)
