"""The verbs `evolve` and `resume`: begin a run, or go on with one where it stands."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

from mage_es import __version__
from mage_es.engine.benchmarks.registry import title
from mage_es.engine.config import Config, checked
from mage_es.engine.embedders.registry import metered
from mage_es.engine.loop import run_iterations
from mage_es.engine.opening import open_world
from mage_es.engine.reopening import reopened
from mage_es.engine.reports import RunSummary
from mage_es.engine.runs import Run, clock, create_run
from mage_es.engine.runtime import Runtime
from mage_es.engine.session import Models, Session, open_models
from mage_es.engine.shortfalls import left_out, shortfalls
from mage_es.engine.summary import summarise
from mage_es.events.envelope import Draft
from mage_es.events.filesystem import FileSystem
from mage_es.events.log import Log
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import RunResumed
from mage_es.projections.fold import State
from mage_es.projections.ledger import Ledger


def evolve(
    config: Config,
    *,
    runs_dir: Path,
    data_dir: Path | None,
    runtime: Runtime,
    run_id: str | None = None,
    models: Models | None = None,
    fs: FileSystem | None = None,
) -> RunSummary:
    """Start a run and evolve it to the end of its configuration.

    Everything that can be refused (benchmark, data, models) is opened before the run's folder is made. `models`
    takes the place of those that the configuration names: any two objects with the seam's one method. `fs` is the
    disk that the log is on, this machine's by default.

    Raises:
        UsageError: Something in the configuration is unknown or out of bounds, or dollars are limited and a model has
            no price.
        PrerequisiteError: A data set or a model is missing, or the disk is nearly full.
        Interrupted: The runtime's `stop` turned true, or its `limits` are reached; the run can be resumed.
    """
    config = checked(config)
    models = models or open_models(config, has_guidance=True)
    runtime.require_prices({**models.names(), **metered(config.embedder)})
    budget = runtime.budget(Ledger())
    world = open_world(config, data_dir=data_dir, embedder=models.embedder, toll=budget)
    run = create_run(runs_dir, benchmark=title(config.benchmark), seed=config.seed, run_id=run_id)
    with Log.create(run.log_path, run=run.id, clock=clock, fs=fs) as log:
        session = Session(run=run, world=world, log=log, state=State(), models=models, runtime=runtime)
        for told in (*shortfalls(config, world.splits.events), *left_out(world.splits)):
            session.say(told)
        asyncio.run(_work(session))
    return summarise(run, fs=fs)


def resume(
    run: Run,
    *,
    config: Config | None,
    data_dir: Path | None,
    runtime: Runtime,
    models: Models | None = None,
    fs: FileSystem | None = None,
) -> RunSummary:
    """Go on with a run. Recorded calls are not made again; a finished run is returned as it is.

    Raises:
        UsageError: `config` is given and is not the run's; the difference is shown.
        RunLocked: Another process is writing the run.
    """
    with reopened(
        run, config=config, data_dir=data_dir, models=models, has_guidance=True, runtime=runtime, fs=fs
    ) as session:
        if not session.state.progress.finished:
            _note_resumption(session, LogReader(run.log_path, fs))
            asyncio.run(_work(session))
    return summarise(run, fs=fs)


async def _work(session: Session) -> None:
    async with aclosing(session):
        await run_iterations(session)


def _note_resumption(session: Session, reader: LogReader) -> None:
    """Record that the run goes on, and say which calls may be made again."""
    attempt = 1 + sum(1 for _ in reader.records({RunResumed}))
    resumed, at = RunResumed(package_version=__version__, attempt=attempt), max(-1, session.state.progress.closed)
    session.commit([Draft(event=resumed, iteration=at, phase="log", ordinal=attempt)])
    session.say_gone_on(f"Resuming {session.run.id}.")
