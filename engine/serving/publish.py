"""The verb `publish`: turn what clients said into memories and rewards, as far as the guard passes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import msgspec

from mage_es.engine.config import Config, parse
from mage_es.engine.models.registry import Models, open_model, require_model
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import first_event, require_scoring
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.seams.model import Model
from mage_es.engine.serving.publishing import Published
from mage_es.engine.serving.publishing import publish as publish_all
from mage_es.engine.session.resuming import reopened
from mage_es.engine.verbs.forms import blocking, typed
from mage_es.events.errors import RunLocked, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ServingStarted


class PublishReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was published in a run, key by key, and the marker that new sessions see from now on."""

    run_id: str
    marker: str
    keys: tuple[Published, ...]


@typed
async def apublish(
    run: Run | Path | str,
    *,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    runtime: Runtime | None = None,
    execution: Model | str | None = None,
    judge: Model | None = None,
    embedder: Embedder | None = None,
) -> PublishReport:
    """Publish what clients said since the last time: memories that they proposed, rewards of search arms.

    Each key's part is judged by the guard on the run's anchors, with `execution` (a model or its name; default: that of
    the run's configuration) as the model that answers them. A stopped publish is continued by the next.

    Raises:
        UsageError: The run is not a served one, or its anchors were answered by another model.
        RunLocked: A process serves the run, or another one publishes it.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached.
    """
    run = as_run(run)
    reader = LogReader(run.log_path)
    config = parse(first_event(reader).config)
    if next(reader.of(ServingStarted), None) is None:
        raise UsageError(f"{run.id} was never served, so it has no feedback: `mage-es serve {run.id}` serves it.")
    if isinstance(execution, str):
        execution = open_model(execution, "execution")
    elif execution is not None:
        require_model("execution", execution)
    models = models_of(config, execution, judge)
    with (
        _named_lock(run),
        reopened(
            run,
            config=None,
            tasks=None,
            data_dir=data_dir,
            benchmark=benchmark,
            models=models._replace(embedder=embedder),
            has_guidance=False,
            runtime=runtime or Runtime(),
        ) as session,
    ):
        require_scoring(session.world, "publishing")
        async with aclosing(session):
            keys = await publish_all(session)
        return PublishReport(run_id=run.id, marker=f"iter-{session.state.progress.closed}", keys=tuple(keys))


publish = blocking(apublish)


@contextmanager
def _named_lock(run: Run) -> Iterator[None]:
    try:
        yield
    except RunLocked as error:
        raise RunLocked(
            f"{error} If that is a proxy, it publishes by itself if started with --publish-every MINUTES."
        ) from None


def models_of(config: Config, execution: Model | None = None, judge: Model | None = None) -> Models:
    """Return the models that a publish calls: those given, else those of the configuration."""
    judge = judge or (open_model(config.judge, "judge") if config.judge else None)
    return Models(execution or open_model(config.execution, "execution"), None, judge)
