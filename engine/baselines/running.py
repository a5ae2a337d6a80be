"""The verb `baseline`: a run of its own in which held-out questions are answered by a way of prompting.

Rules
    - It commits to the same splits as an evolution with the same configuration, so both answer the same questions.
    - One that looks things up does so in the paragraphs that questions bring with them, where nobody says otherwise.
    - It has no guidance model and learns nothing. Like any run it can be stopped, resumed, shown and verified; what is
      recorded is not asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from mage_es.engine.baselines.table import BASELINES, planned, started
from mage_es.engine.benchmarks.protocol import Benchmark, Split
from mage_es.engine.benchmarks.registry import open_benchmark, title
from mage_es.engine.commands import OpenRun
from mage_es.engine.config import Config, checked
from mage_es.engine.decide import decide
from mage_es.engine.embedders.registry import metered
from mage_es.engine.environments.protocol import is_sequential, modes_of
from mage_es.engine.opening import World, first_event, open_world
from mage_es.engine.reopening import reopened
from mage_es.engine.reports import BaselineReport
from mage_es.engine.runs import Run, clock, create_run
from mage_es.engine.runtime import Runtime
from mage_es.engine.search.record import have_paragraphs
from mage_es.engine.search.registry import RECORD, Searches
from mage_es.engine.session import Models, Session, open_models
from mage_es.engine.shortfalls import left_out, shortfalls
from mage_es.engine.summary import episode_rows
from mage_es.engine.ways import planned_course
from mage_es.events.envelope import Draft
from mage_es.events.errors import PrerequisiteError, UsageError, nearest
from mage_es.events.log import Log
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import (
    AnswerJudged,
    AnswerUnanswered,
    BaselineStarted,
    EmbeddingCalled,
    Event,
    ExamClosed,
    ModelCalled,
    RunFinished,
)
from mage_es.projections.fold import State
from mage_es.projections.ledger import Ledger

SPLITS: tuple[Split, ...] = ("evolution", "test")
_REPORTED: set[type[Event]] = {BaselineStarted, AnswerJudged, AnswerUnanswered, ModelCalled, EmbeddingCalled}


def run_baseline(
    name: str,
    config: Config,
    *,
    runs_dir: Path,
    data_dir: Path | None,
    runtime: Runtime,
    questions: int | None = None,
    run_id: str | None = None,
    models: Models | None = None,
) -> BaselineReport:
    """Start a baseline and answer the first `questions` held-out questions (default: all) with it.

    Raises:
        UsageError: No such baseline, or the benchmark is none for it.
        PrerequisiteError: A data set or a model is missing.
        Interrupted: The runtime's `stop` turned true, or its `limits` are reached; the run can be resumed.
    """
    require_baseline(name)
    config = checked(msgspec.structs.replace(config, guidance="", iterations=1))
    models = models or open_models(config, has_guidance=False)
    runtime.require_prices({**models.names(), **metered(config.embedder)})
    budget = runtime.budget(Ledger())
    world = _looking(name, open_world(config, data_dir=data_dir, embedder=models.embedder, toll=budget))
    run = create_run(runs_dir, benchmark=f"{title(config.benchmark)}-{name}", seed=config.seed, run_id=run_id)
    with Log.create(run.log_path, run=run.id, clock=clock) as log:
        session = Session(run=run, world=world, log=log, state=State(), models=models, runtime=runtime)
        opened = decide(world.setting, session.state, OpenRun(world.started(run.id), world.splits.events))
        # One commit: a run that was killed between the two would not be known for a baseline's.
        session.commit([*opened, *_beginning(session, name, world.setting.held_out[:questions])])
        if world.setting.config.search != config.search:
            session.say(f"{name} looks in the paragraphs that questions bring with them, as with --search {RECORD}.")
        for told in (*shortfalls(config, world.splits.events, has_guard=False), *left_out(world.splits)):
            session.say(told)
        asyncio.run(_answer(session))
    return read_baseline(run)


def resume_baseline(
    run: Run,
    *,
    data_dir: Path | None,
    runtime: Runtime,
    config: Config | None = None,
    models: Models | None = None,
) -> BaselineReport:
    """Go on with a baseline where it stopped; one that is finished is returned as it is.

    Raises:
        UsageError: `config` is given and is not the run's; the difference is shown.
        RunLocked: Another process is writing the run.
    """
    with reopened(run, config=config, data_dir=data_dir, models=models, has_guidance=False, runtime=runtime) as session:
        if not session.state.progress.finished:
            session.say_gone_on(f"Going on with {run.id}.")
            asyncio.run(_answer(session))
    return read_baseline(run)


def is_baseline(run: Run) -> bool:
    """Return whether a run is a baseline's."""
    return any(LogReader(run.log_path).records({BaselineStarted}))


def read_baseline(run: Run) -> BaselineReport:
    """Return the report of a baseline from its log."""
    reader = LogReader(run.log_path)
    events = [record.event for record in reader.records(_REPORTED)]
    begun = next(event for event in events if isinstance(event, BaselineStarted))
    answers = sorted((e for e in events if isinstance(e, AnswerJudged)), key=lambda e: e.question_id)
    calls = [event for event in events if isinstance(event, ModelCalled)]
    return BaselineReport(
        run_id=run.id,
        path=str(run.path),
        baseline=begun.baseline,
        benchmark=first_event(reader).benchmark,
        shots=len(begun.shots),
        correct=sum(answer.correct for answer in answers),
        total=len(answers),
        unanswered=sum(isinstance(event, AnswerUnanswered) for event in events),
        execution_calls=sum(call.tier == "execution" for call in calls),
        judge_calls=sum(call.tier == "judge" for call in calls),
        guidance_calls=sum(call.tier == "guidance" for call in calls),
        embedder_calls=sum(isinstance(event, EmbeddingCalled) for event in events),
        output_tokens=sum(call.output_tokens for call in calls),
        answers=tuple((answer.question_id, answer.correct) for answer in answers),
        episodes=episode_rows(reader),
    )


def require_baseline(name: str) -> None:
    """Raise `UsageError` where no baseline has that name."""
    if name not in BASELINES:
        raise UsageError(f"There is no baseline {name!r}.{nearest(name, list(BASELINES))}")


def require_fit(name: str, config: Config, *, data_dir: Path | None) -> None:
    """Raise `UsageError` where a baseline makes no sense with a configuration, as far as the data is there to tell."""
    require_baseline(name)
    try:
        benchmark = open_benchmark(config.benchmark, seed=config.seed, data_dir=data_dir)
    except PrerequisiteError:
        return  # which the baseline will say itself, wherever it is to run
    looks_in(name, benchmark, config.search)


def looks_in(name: str, benchmark: Benchmark, search: str) -> str:
    """Return where a baseline looks things up, "" for nowhere: as was said, else, if it must, in the questions' own
    paragraphs, where they bring any.

    Raises:
        UsageError: The baseline makes no sense on the benchmark, or would have nowhere to look.
    """
    baseline = BASELINES[name]
    if is_sequential(benchmark):
        if baseline.plays_as not in ("", *modes_of(benchmark)):
            raise UsageError(f"{name} does not play episodes, and {benchmark.name} is made of them: try zero_shot_cot.")
        return search
    if not baseline.needs_search or search:
        return search
    if have_paragraphs(question for split in SPLITS for question in benchmark.questions(split)):
        return RECORD
    raise UsageError(
        f"{name} looks things up, and nothing was said about where: give --search record for the paragraphs that "
        "questions bring with them, --search local/FOLDER, or --search wikipedia."
    )


def _looking(name: str, world: World) -> World:
    """Return the world in which a baseline looks where it is to; the configuration says so as if it had been given."""
    config = world.setting.config
    search = looks_in(name, world.benchmark, config.search)
    if search == config.search:
        return world
    told = msgspec.structs.replace(config, search=search)
    return world._replace(setting=world.setting._replace(config=told), searches=Searches(search))


def _beginning(session: Session, name: str, questions: Sequence[str]) -> list[Draft]:
    """Return which baseline it is, and the plan of each question, to be recorded."""
    world = session.world
    chosen = [world.questions[each] for each in sorted(questions)]
    shots = BASELINES[name].shots(world.benchmark.name, world.questions, world.setting.evolution)
    begun = Draft(event=started(name, shots), iteration=-1, phase="open")
    types = world.typing.types_of(chosen)
    plans = [
        planned(name, question, task_type, lambda plan: planned_course(world, session.state, plan))
        for question, task_type in zip(chosen, types, strict=True)
    ]
    return [begun, *plans]


async def _answer(session: Session) -> None:
    async with aclosing(session):
        await session.answer(-1, "exam")
    verdicts = session.state.progress.verdicts("exam")
    closed = ExamClosed(
        correct=sum(verdict.correct for verdict in verdicts),
        total=len(verdicts),
        familiar_correct=0,
        familiar_total=0,
        unanswered=len(session.state.progress.unanswered("exam")),
    )
    finished = RunFinished(iterations=0)
    session.commit([Draft(event=event, iteration=-1, phase="exam") for event in (closed, finished)])
