"""Going on with a run: its log opened, its world and state as they were, and a session at work on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mage_es.engine.config import Config, parse, require_same
from mage_es.engine.embedders.registry import metered
from mage_es.engine.opening import first_event, reopen_world
from mage_es.engine.runs import Run, clock
from mage_es.engine.runtime import Runtime
from mage_es.engine.session import Models, Session, open_models
from mage_es.events.filesystem import FileSystem
from mage_es.events.log import Log
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import QuestionPlanned
from mage_es.projections.fold import fold
from mage_es.projections.snapshots import latest_snapshot


@contextmanager
def reopened(
    run: Run,
    *,
    config: Config | None,
    data_dir: Path | None,
    models: Models | None,
    has_guidance: bool,
    runtime: Runtime,
    fs: FileSystem | None = None,
) -> Iterator[Session]:
    """Open the log of a run to go on with it; the block is given its session.

    Raises:
        UsageError: `config` is given and is not the run's, or dollars are limited and a model has no price.
        PrerequisiteError: Data, embedder or a model is not what the run was started with, or missing.
        RunLocked: Another process is writing the run.
    """
    with Log.open(run.log_path, clock=clock, fs=fs) as log:
        reader = LogReader(run.log_path, fs)
        require_same(parse(first_event(reader).config), config)
        world = reopen_world(reader, data_dir=data_dir, embedder=models.embedder if models else None)
        models = models or open_models(world.setting.config, has_guidance=has_guidance)
        runtime.require_prices({**models.names(), **metered(world.setting.config.embedder)})
        state = fold(reader, state=latest_snapshot(run.snapshots_path, reader))
        session = Session(run=run, world=world, log=log, state=state, models=models, runtime=runtime)
        session.find_plans(reader.records({QuestionPlanned}))
        yield session
