"""The verb `exam`: test a run's frozen state on questions that it never saw.

Rules
    - The run's log records that the exam was taken and how it ended. Nothing else in it changes: nothing is learned,
      and the bandits are frozen (rules/bandits.py).
    - One budget covers all sessions of an exam.
    - Exams of one run that are requested at the same time, by any process, are taken one after another.
    - A sample of the held-out questions is part of every larger one, because the seed and the ids give all questions
      one order.
    - The controls `shuffled` and `permuted` (rules/controls.py) show memories that cannot teach a question anything: if
      a gain remains, it is not due to what the memories say. `bare` shows no memories.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence, Set
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es import __version__
from mage_es.engine.embedders.registry import metered
from mage_es.engine.models.registry import Models, open_model, require_models
from mage_es.engine.rules.controls import CONTROLS
from mage_es.engine.run.directory import Run, as_run, clock
from mage_es.engine.run.exam_plan import exam_plan, families_of, held_out_sample
from mage_es.engine.run.exams import ExamRecord, exam_records, number_of, repair_that_cut
from mage_es.engine.run.fingerprints import fingerprints, scorer_in_words, scorer_of
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.run.telemetry import followed_by
from mage_es.engine.run.world import World, first_event, reopen_world, require_ontology, require_scoring, state_of
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.model import Model
from mage_es.engine.seams.plugins import verb
from mage_es.engine.session.session import Session
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.engine.verbs.exam_report import ExamReport, report_of
from mage_es.engine.verbs.preflight import require_room
from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.disk import LocalFileSystem, Lock
from mage_es.events.errors import BudgetReached, Interrupted, PrerequisiteError, UsageError, nearest
from mage_es.events.log import Log, LogReader
from mage_es.events.signing.heads import root_of
from mage_es.projections.fold import State
from mage_es.projections.ledger import Ledger

_TURN_S = 0.05
"""Seconds after which a waiting exam checks again whether it is its turn."""


@typed
async def aexamine(
    run: Run | Path | str,
    *,
    at: str = "latest",
    questions: int | None = None,
    control: str = "none",
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    runtime: Runtime | None = None,
    execution: Model | None = None,
    judge: Model | None = None,
    embedder: Embedder | None = None,
    rejudge: bool = False,
) -> ExamReport:
    """Examine a run at a marker on a sample of `questions` of its held-out split (default: all of it).

    `execution`, `judge` and `embedder` replace those of the run's configuration: the exam records who answers. With
    `rejudge` the run's exams are first scored again from their recorded replies, if another scorer scored them.

    [section 3.2, frozen inference] An exam has its own log and gets no guidance model.

    [section 4.1, exam] The same exam (marker, state, questions, control, models) makes no recorded call again: an
    interrupted one continues, a complete one is reported as `repeated`.

    Raises:
        UsageError: An unknown marker or control, more questions than are held out, a control that the questions do not
        allow, or dollars are limited and a model has no price. PrerequisiteError: The scorer is not that of earlier
        exams, or of the run. RunLocked: Another process is writing the run. If it is another exam, this one waits.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the same call resumes it.
    """
    if control not in CONTROLS:
        raise UsageError(f"There is no control {control!r}.{nearest(control, list(CONTROLS))}")
    run, began, runtime = as_run(run), time.perf_counter(), runtime or Runtime()
    reader = LogReader(run.log_path)
    seq = reader.resolve(at)
    world = reopen_world(reader, data_dir=data_dir, benchmark=benchmark, embedder=embedder)
    require_scoring(world, "an exam")
    names, config = held_out_sample(world.setting, questions), world.setting.config
    judge = judge or (open_model(config.judge, "judge") if config.judge else None)
    models = Models(execution or open_model(config.execution, "execution"), None, judge)
    require_models(models)
    runtime.require_prices({**models.names(), **metered(config.embedder)})
    state = state_of(run, reader, until=seq)
    require_ontology(state, at)
    _require_control(control, world, names)
    wanted = v.ExamOpened(
        exam="",
        run_id=reader.run,
        marker=at,
        head_seq=seq,
        control=control,
        execution=models.execution.name,
        judge=judge.name if judge else "",
        asked=len(names),
        asked_sha256=sha256_text("\n".join(sorted(names))),
        digests=state.digests(),
        package_version=__version__,
        **fingerprints(world)._asdict(),
    )
    if rejudge:
        with Log.open(run.log_path, clock=clock) as log:
            if drafts := list(verb("rescore")(run, LogReader(run.log_path), world)):
                log.append(drafts)
    else:
        _require_scorer(reader, wanted)
    record, is_repeated = _recorded(run, wanted), True
    if not record or not record.closed:
        await require_room(world, models.execution, names[0])
        record, is_repeated = await _Sitting(run, world, state, models, runtime, names).take(wanted), False
    return report_of(run, record, world, seconds=time.perf_counter() - began, is_repeated=is_repeated)


examine = blocking(aexamine)


def _recorded(run: Run, wanted: v.ExamOpened) -> ExamRecord | None:
    """Return the newest recorded exam that is the same as this one and still has its log."""
    for record in reversed(exam_records(LogReader(run.log_path))):
        # Exams of one state are opened at different heads of the log; the digests tell whether it is the same state.
        # The package may have changed since, but not the scorer.
        names = ("head_seq", "package_version", "package_sha256", "scorer_sha256", "probes_sha256")
        given = {name: getattr(wanted, name) for name in names}
        same = msgspec.structs.replace(record.opened, exam="", **given) == wanted
        same = same and scorer_of(record.scored_by) == scorer_of(wanted)
        if same and record.is_there(run):
            return record
    return None


def _require_scorer(reader: LogReader, wanted: v.ExamOpened) -> None:
    """Raise `PrerequisiteError` if another scorer scored an exam of the run or, without exams, the run itself."""
    scorer = scorer_of(wanted)
    scored = [(record.opened.exam, scorer_of(record.scored_by)) for record in exam_records(reader)]
    for name, other in scored or [(reader.run, scorer_of(first_event(reader)))]:
        if other != scorer:
            raise PrerequisiteError(
                f"The scorer changed since {name} was scored: {scorer_in_words(other)} then, "
                f"{scorer_in_words(scorer)} now. Verdicts of the two cannot be compared: restore the old one, or "
                "score all exams again from their recorded replies with --rejudge."
            )


class _Sitting(NamedTuple):
    """An exam being taken: first its folder with an empty log, then `exam.opened` in the run's log and in the exam's
    own, then its answers. Once its log is closed, `exam.closed` in the run's log records the head.

    A kill in between leaves an empty folder, which is used or skipped, or an exam that can be continued.
    """

    run: Run
    world: World
    state: State
    models: Models
    runtime: Runtime
    names: Sequence[str]

    async def take(self, wanted: v.ExamOpened) -> ExamRecord:
        """Start the exam, or continue the recorded one, and finish it."""
        # One writer: while an exam is taken, the run neither learns nor is examined by another process.
        async with self._turn() as log:
            record = _recorded(self.run, wanted)
            if record and record.closed:  # in the meantime
                return record
            exam = self.run.exam(record.opened.exam if record else _new_name(self.run, wanted))
            exam.path.mkdir(parents=True, exist_ok=True)
            with Log.open(exam.log_path, clock=clock) if record else exam.begin() as own:
                if not record:
                    opened = msgspec.structs.replace(wanted, exam=exam.path.name)
                    [seq] = log.append([v.Draft(event=opened, iteration=-1, phase="exam")]).seqs
                    record = ExamRecord(seq, opened, None)
                    self.runtime.sign(log, self.run.log_path)
                result = await self._answered(exam, own, record.opened)
            # Only now is the head final, as closing a log seals it.
            closed = msgspec.structs.replace(
                result,
                exam=exam.path.name,
                head_seq=own.head.seq,
                head_chain=own.head.chain,
                root=root_of(exam.log_path).hex(),
            )
            log.append([v.Draft(event=closed, iteration=-1, phase="exam")])
            self.runtime.sign(log, self.run.log_path)
            return record._replace(closed=closed)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[Log]:
        """Yield the run's log once no other exam of the run is in progress. Raises `Interrupted`, `RunLocked`."""
        turn = self._take_lock()
        if not turn:
            message = f"Waiting for another exam of {self.run.id} to end."
            total = len(self.names)
            note = ProgressNote(
                run_id=self.run.id, phase="exam", done=0, total=total, message=message, is_announcement=True
            )
            self.runtime.observer(note)
        while not turn:
            if self.runtime.stop():
                raise Interrupted("The exam was stopped before its turn; nothing was recorded.")
            await asyncio.sleep(_TURN_S)
            turn = self._take_lock()
        try:
            with Log.open(self.run.log_path, clock=clock) as log:
                yield log
        finally:
            turn.release()

    def _take_lock(self) -> Lock | None:
        """Take the lock for an exam of the run; None while another process holds it."""
        try:
            return LocalFileSystem().lock(self.run.examining_path)
        except BlockingIOError:
            return None

    async def _answered(self, exam: Run, own: Log, opened: v.ExamOpened) -> v.ExamClosed:
        state = self.state
        # From here on the state folds the exam's own log, whose sequence numbers and calls start from zero.
        state.seq = 0
        state.ledger.load(Ledger().dump())
        recorded = list(LogReader(exam.log_path).records())
        for record in recorded:
            state.apply(record.event)
            state.seq = record.seq
        session = Session(run=exam, world=self.world, log=own, state=state, models=self.models, runtime=self.runtime)
        with followed_by(self.runtime.telemetry, exam, session.announce, of=self.run.id):
            session.commit([_beginning(session, opened, recorded)])
            await _sit(session, self.names, opened.control)
        return exam_closed(session, families_of(self.world))


def _new_name(run: Run, wanted: v.ExamOpened) -> str:
    """Return the name of the next exam. Raises `UsageError` if an exam that the run does not know has that number."""
    reader = LogReader(run.log_path)
    number = 1 + max((record.number for record in exam_records(reader)), default=0)
    while begun := [exam for exam in run.exams() if number_of(exam.path.name) == number and exam.events]:
        # Its record was cut off, so its number is not reused.
        if not repair_that_cut(number, reader):
            raise UsageError(
                f"{begun[0].path} has the number of the next exam, but the log of {run.id} knows no such exam: "
                "move that folder elsewhere."
            )
        number += 1
    suffix = wanted.marker.replace("/", "-").replace(":", "-")
    return f"{number:04d}-{suffix}" + ("" if wanted.control == "none" else f"-{wanted.control}")


async def _sit(session: Session, names: Sequence[str], control: str) -> None:
    session.enter_phase(-1, "exam")
    if not session.state.progress.plans("exam"):
        session.do(exam_plan(session.world, session.state, names, control))
    try:
        async with aclosing(session):
            await session.answer(-1, "exam")
    except BudgetReached:
        raise
    except Interrupted:
        raise Interrupted("The exam was stopped. Run the same command again to continue it.") from None


def exam_closed(session: Session, known: Set[str] = frozenset()) -> v.ExamClosed:
    """Return the event that ends an exam; questions of `known` phrasing families count as familiar."""
    verdicts, lost = session.state.progress.verdicts("exam"), session.state.progress.unanswered("exam")
    asked = dict.fromkeys((each.question_id for each in lost), False) | {
        each.question_id: each.correct for each in verdicts
    }
    familiar = [right for name, right in asked.items() if session.world.questions[name].family in known]
    return v.ExamClosed(
        correct=sum(asked.values()),
        total=len(asked),
        familiar_correct=sum(familiar),
        familiar_total=len(familiar),
        unanswered=len(lost),
        undecided=len(session.state.progress.undecided("exam")),
    )


def _require_control(control: str, world: World, names: Sequence[str]) -> None:
    if control == "shuffled" and len(names) < 2:
        raise UsageError("The control shuffled gives each question what another would get: ask two or more.")
    if control == "permuted" and is_sequential(world.benchmark):
        raise UsageError(
            f"{world.benchmark.name} is played, so its memories have no answers to permute: use --control shuffled."
        )


def _beginning(session: Session, opened: v.ExamOpened, recorded: Sequence[v.Record]) -> v.Draft:
    if not recorded:
        return v.Draft(event=opened, iteration=-1, phase="exam")
    session.remember_plans(recorded)
    progress = session.state.progress
    settled = sum(progress.is_settled("exam", planned.question_id) for planned in progress.plans("exam"))
    session.announce_continuation(
        f"Resuming the exam {session.run.id}: {settled} of its questions are settled already."
    )
    attempt = 1 + sum(isinstance(record.event, v.RunResumed) for record in recorded)
    resumed = v.RunResumed(package_version=__version__, attempt=attempt)
    return v.Draft(event=resumed, iteration=-1, phase="log", ordinal=attempt)
