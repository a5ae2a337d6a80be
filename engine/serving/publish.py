"""The verb `publish`: turn what clients said into memories and rewards, as far as the guard passes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import msgspec

from mage_es.engine.config import Config, parse
from mage_es.engine.models.registry import Models, open_model, require_model
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.inheriting import inheritance, last_inherited
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import first_event, reopen_world, require_scoring, state_of
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.seams.model import Model
from mage_es.engine.serving.publishing import Published, turns_of
from mage_es.engine.serving.publishing import publish as publish_all
from mage_es.engine.session.reasking import AskingPrice, price_again
from mage_es.engine.session.resuming import reopened
from mage_es.engine.verbs.forms import blocking, typed
from mage_es.events.errors import RunLocked, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import QuestionPlanned, ServingStarted


class PublishReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was published in a run, key by key, and the marker that new sessions see from now on."""

    run_id: str
    marker: str
    keys: tuple[Published, ...]


@typed
def publish_price(
    run: Run | Path | str,
    *,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    prices: Prices | None = None,
) -> AskingPrice:
    """Return what `publish` can take at most: the anchors, once for each part of a key that has something new, and once
    before the first. Estimated by what they took here, or in the run that is served. No model is called.

    Raises `UsageError` if the run is not a served one.
    """
    run = as_run(run)
    reader = _served(run)
    world, state = reopen_world(reader, data_dir=data_dir, benchmark=benchmark, frozen=True), state_of(run, reader)
    rounds = len(turns_of(world.setting, state, reader))
    rounds += bool(rounds and not state.scores.accepted())
    rounds += state.progress.is_completed(state.progress.closed + 1, "update")
    begun, sources = inheritance(reader), [reader]
    if begun and (parent := run.path.parent / begun.path / "log").exists():
        sources.append(LogReader(parent))
    for source in sources:
        own = source.of(QuestionPlanned, since=last_inherited(source) + 1)
        if like := [planned for planned in own if planned.purpose == "anchor"]:
            return price_again(source, rounds * len(world.setting.anchors), like, prices or Prices())
    return price_again(reader, rounds * len(world.setting.anchors), (), prices or Prices())


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
    config = parse(first_event(_served(run)).config)
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


def _served(run: Run) -> LogReader:
    reader = LogReader(run.log_path)
    first_event(reader)
    if next(reader.of(ServingStarted), None) is None:
        raise UsageError(f"{run.id} was never served, so it has no feedback: `mage-es serve {run.id}` serves it.")
    return reader


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
