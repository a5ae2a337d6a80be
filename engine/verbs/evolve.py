"""The verb `evolve`: start a run."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

from mage_es.engine.benchmarks.registry import title, with_own_models
from mage_es.engine.config import Config, checked
from mage_es.engine.embedders.registry import metered, replacement
from mage_es.engine.loop import run_iterations
from mage_es.engine.models.registry import Models, open_models, require_teaching
from mage_es.engine.run.cutoffs import cutoffs, left_out
from mage_es.engine.run.directory import RUNS_DIR, create_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import open_world
from mage_es.engine.session.session import Session
from mage_es.engine.verbs.forms import blocking
from mage_es.engine.verbs.providers import require_served, room_for_briefs
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.verbs.summary import RunSummary
from mage_es.events.disk import FileSystem
from mage_es.projections.fold import State
from mage_es.projections.ledger import Ledger


async def aevolve(
    config: Config,
    *,
    runs_dir: Path | str = RUNS_DIR,
    data_dir: Path | str | None = None,
    runtime: Runtime | None = None,
    run_id: str | None = None,
    models: Models | None = None,
    fs: FileSystem | None = None,
) -> RunSummary:
    """Start a run and evolve it to the end of its configuration.

    Benchmark, data and models are opened before the run's folder is created, so that a mistake leaves nothing behind.
    `models` replaces those that the configuration names. `fs` is the file system of the log, by default this machine's.

    Raises:
        UsageError: Something in the configuration is unknown or out of bounds, or dollars are limited and a model has
            no price.
        PrerequisiteError: A data set or a model is missing, or the disk is nearly full.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the run can be resumed.
    """
    config, runtime = checked(config), runtime or Runtime()
    room = 0 if models else room_for_briefs(with_own_models(config).guidance)
    opened = models or open_models(config, has_guidance=True)
    require_teaching(with_own_models(config), opened.guidance)
    runtime.require_prices({**opened.names(), **metered(config.embedder)})
    if models is None:
        await require_served(opened.names().values())
    models = opened
    budget = runtime.budget(Ledger())
    world = open_world(config, data_dir=data_dir, embedder=models.embedder, spending=budget, guidance_room=room)
    run = create_run(runs_dir, benchmark=title(config.benchmark), seed=config.seed, run_id=run_id)
    with run.begin(fs) as log:
        session = Session(run=run, world=world, log=log, state=State(), models=models, runtime=runtime)
        said = (*replacement(config.embedder, world.embedder), *cutoffs(config, world.splits.events))
        for told in (*said, *left_out(config, world.splits)):
            session.announce(told)
        await iterate(session)
    return summarise(run, fs=fs)


evolve = blocking(aevolve)


async def iterate(session: Session) -> None:
    async with aclosing(session):
        await run_iterations(session)
