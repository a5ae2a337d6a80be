"""Reopening a run: its log, its world and its state, and a session to continue with them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mage_es.engine.benchmarks.registry import with_own_models
from mage_es.engine.config import Config, parse, require_same
from mage_es.engine.embedders.registry import metered
from mage_es.engine.models.registry import Models, open_models, require_models
from mage_es.engine.run.budget import limits_of
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import first_event, reopen_world, state_of
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.session.beginning import keep_budget
from mage_es.engine.session.session import Session
from mage_es.events.disk import FileSystem
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import IterationPlanned, QuestionPlanned


@contextmanager
def reopened(
    run: Run,
    *,
    config: Config | None,
    data_dir: Path | str | None,
    benchmark: Benchmark | None,
    models: Models | None,
    has_guidance: bool,
    runtime: Runtime,
    fs: FileSystem | None = None,
) -> Iterator[Session]:
    """Open a run to continue it; the block gets its session.

    Raises:
        UsageError: `config` differs from the run's, or dollars are limited and a model has no price.
        PrerequisiteError: Data, embedder or a model is missing, or not the one that the run was started with.
        RunLocked: Another process is writing the run.
    """
    if models is not None:
        require_models(models)
        config = config and models.named_in(config)
    with Log.open(run.log_path, clock=clock, fs=fs) as log:
        reader = LogReader(run.log_path, fs)
        # Models that come with the user's own tasks are filled in first, as they were before the configuration was
        # recorded.
        started = first_event(reader)
        require_same(parse(started.config), with_own_models(config) if config else None)
        recorded = limits_of(reader)
        runtime = runtime.within(recorded)
        world = reopen_world(
            reader, data_dir=data_dir, benchmark=benchmark, embedder=models.embedder if models else None
        )
        if config:
            world.limit_scorer(config.scorer_seconds)
        models = models or open_models(world.setting.config, has_guidance=has_guidance)
        # Before the fold and the first call: a missing price should cost neither time nor money.
        runtime.require_prices({**models.names(), **metered(world.setting.config.embedder)})
        # A snapshot only saves time: without one, or if it does not fit the log, the fold begins at the first event.
        state = state_of(run, reader)
        session = Session(run=run, world=world, log=log, state=state, models=models, runtime=runtime)
        # The state does not hold sequence numbers of plans, and what is recorded next names them as its cause.
        session.remember_plans(reader.records({IterationPlanned, QuestionPlanned}, since=last_inherited(reader) + 1))
        if not state.progress.finished:
            keep_budget(session, recorded)
        run.forget_beginning()
        yield session
