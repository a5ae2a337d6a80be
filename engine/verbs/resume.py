"""The verb `resume`: continue a run from its last recorded event."""

from pathlib import Path

from mage_es import __version__
from mage_es.engine.config import Config, require_same
from mage_es.engine.models.registry import Models
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.inheriting import inheritance, require_not_served
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import require_scoring
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.session.resuming import reopened
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.engine.verbs.evolve import iterate, start_run
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.verbs.summary import RunSummary
from mage_es.events.disk import FileSystem
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import Draft, RunResumed


@typed
async def aresume(
    run: Run | Path | str,
    *,
    config: Config | None = None,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    runtime: Runtime | None = None,
    models: Models | None = None,
    fs: FileSystem | None = None,
) -> RunSummary:
    """Continue a run, or start one that was stopped before its first event. Recorded calls are not made again; a
    finished run is returned unchanged.

    Raises:
        UsageError: `config` is given and differs from the run's; the message lists the differences.
        RunLocked: Another process is writing the run.
    """
    run = as_run(run)
    if begun := run.beginning():
        require_same(begun.config, config)
        return await start_run(
            begun,
            None,
            from_run=begun.from_run or None,
            runs_dir=run.path.parent,
            data_dir=data_dir,
            runtime=(runtime or Runtime()).within(begun.limits),
            run_id=run.id,
            models=models,
            fs=fs,
        )
    reader = LogReader(run.log_path, fs)
    require_not_served(run, reader)
    parent = inheritance(reader)
    with reopened(
        run,
        config=config,
        data_dir=data_dir,
        benchmark=benchmark,
        models=models,
        has_guidance=parent is None or not parent.reproof,
        runtime=runtime or Runtime(),
        fs=fs,
    ) as session:
        if not session.state.progress.finished:
            require_scoring(session.world, "learning")
            attempt = 1 + sum(1 for _ in LogReader(run.log_path, fs).records({RunResumed}))
            resumed = RunResumed(package_version=__version__, attempt=attempt)
            at = max(-1, session.state.progress.closed)
            session.commit([Draft(event=resumed, iteration=at, phase="log", ordinal=attempt)])
            if parent and not session.state.ledger.accounts() and not run.in_flight_path.exists():
                session.announce(f"Starting {run.id}, which has made no call yet.")
            else:
                session.announce_continuation(f"Resuming {run.id}.")
            await iterate(session)
    return summarise(run, fs=fs)


resume = blocking(aresume)
