"""The verb `evolve`: start a run."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from mage_es.engine.benchmarks.registry import given_name, title, with_own_models
from mage_es.engine.benchmarks.tasks.benchmark import given_tasks
from mage_es.engine.benchmarks.tasks.scorers import Scoring, name_of
from mage_es.engine.benchmarks.tasks.spec import parse
from mage_es.engine.config import Config, checked
from mage_es.engine.embedders.registry import metered, replacement
from mage_es.engine.loop import run_iterations
from mage_es.engine.models.registry import Models, open_models, own_teacher, require_models, require_teaching
from mage_es.engine.run.asking_price import AskingPrice, price_on
from mage_es.engine.run.budget import UNLIMITED
from mage_es.engine.run.directory import RUNS_DIR, Beginning, Run, as_run, create_run
from mage_es.engine.run.exam_plan import registered_in
from mage_es.engine.run.inheriting import learning_of, read_parent, require_continuable
from mage_es.engine.run.notices import columns_told, continuation, cutoffs, left_out, lone_types
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.telemetry import followed_by
from mage_es.engine.run.world import World, first_event, open_world
from mage_es.engine.seams.benchmark import Benchmark, column_roles_of
from mage_es.engine.session.session import Session
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.engine.verbs.preflight import asks_guidance, given_away, require_room, require_served, room_for_briefs
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.verbs.summary import RunSummary
from mage_es.events.disk import FileSystem
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import RunRegistered
from mage_es.projections.fold import fold
from mage_es.projections.ledger import Ledger


@typed
async def aevolve(
    config: Config,
    *,
    tasks: Sequence[Mapping[str, Any]] | None = None,
    scorer: str | Scoring | None = None,
    benchmark: Benchmark | None = None,
    from_run: Run | Path | str | None = None,
    at: str = "latest",
    runs_dir: Path | str = RUNS_DIR,
    data_dir: Path | str | None = None,
    runtime: Runtime | None = None,
    run_id: str | None = None,
    models: Models | None = None,
    registration: RunRegistered | None = None,
    fs: FileSystem | None = None,
) -> RunSummary:
    """Start a run and evolve it to the end of its configuration.

    Benchmark, data and models are opened before the run's folder is created, so that a mistake leaves nothing behind.
    `tasks` are questions with answers, as dictionaries or `Task`s, and the configuration's benchmark is the name for
    them; `scorer` is the name of one, or a function of reply and task. `benchmark` is an object in place of a name in
    the configuration; another process that opens the run must be given it again. `from_run` is a run whose learned
    state at a closed iteration (`at`: start, iter-4, latest) this one begins with, and whose questions it has besides
    its own. `models` replaces those that the configuration names. `registration` says what will count, and is recorded
    before the first call (with `questions` 0: all held-out ones). `fs` is the file system of the log, by default this
    machine's.

    Raises:
        UsageError: Something in the configuration is unknown or out of bounds, dollars are limited and a model has no
            price, or the run to continue is another benchmark's.
        PrerequisiteError: A data set or a model is missing, or the disk is nearly full.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the run can be resumed.
    """
    config, benchmark = data_from_python(checked(config), tasks, scorer, benchmark)
    return await start_run(
        Beginning(config, at=at, registration=registration),
        benchmark,
        from_run=from_run,
        runs_dir=runs_dir,
        data_dir=data_dir,
        runtime=runtime or Runtime(),
        run_id=run_id,
        models=models,
        fs=fs,
    )


evolve = blocking(aevolve)


@typed
def evolve_price(
    config: Config, *, from_run: Run | Path | str, at: str = "latest", prices: Prices | None = None
) -> AskingPrice | None:
    """Return what `evolve` from another run costs, judging by that run, or by the one that it serves; None if that has
    not closed an iteration of its own. No model is called. Raises `UsageError` for a run that cannot be continued, or
    has no such marker."""
    run = as_run(from_run)
    reader = LogReader(run.log_path)
    first_event(reader)
    require_continuable(run.id, reader)
    reader.resolve(at)
    return price_on(learning_of(reader), config, prices or Prices())  # publishing asks anchors only


async def start_run(
    begun: Beginning,
    benchmark: Benchmark | None,
    *,
    from_run: Run | Path | str | None,
    runs_dir: Path | str,
    data_dir: Path | str | None,
    runtime: Runtime,
    run_id: str | None,
    models: Models | None,
    fs: FileSystem | None = None,
) -> RunSummary:
    """Create the run that a command began, and evolve it (see `aevolve`). With a `reproof`, only ask that many of the
    parent's questions again, without a guidance model."""
    config, reproof, registration = begun.config, begun.reproof, begun.registration
    has_guidance = reproof == 0
    if models is not None:
        require_models(models, has_guidance=has_guidance)
        config = models.named_in(config)
    parent = None
    if from_run is not None:
        execution = with_own_models(config).execution
        parent = read_parent(
            as_run(from_run), begun.at, runs_dir=runs_dir, prices=runtime.prices, execution=execution, reproof=reproof
        )
    opened = models or open_models(config, has_guidance=has_guidance)
    room = 0 if models else room_for_briefs(opened.guidance)
    if has_guidance:
        require_teaching(with_own_models(config), opened.guidance)
    runtime.require_prices({**opened.names(), **metered(config.embedder)})
    tried = [] if models else await require_served(opened)
    budget = runtime.budget(Ledger())
    world = open_world(
        config,
        data_dir=data_dir,
        benchmark=benchmark,
        embedder=opened.embedder,
        spending=budget,
        guidance_room=room,
        parent=parent,
    )
    await require_room(world, opened.execution, world.setting.evolution[0])
    if registration:
        registered_in(world, registration)  # before there is a folder
    source, limits = str(as_run(from_run).path.resolve()) if from_run else "", runtime.limits or UNLIMITED
    kept = None if benchmark else msgspec.structs.replace(begun, config=config, limits=limits, from_run=source)
    run = create_run(runs_dir, benchmark=title(config.benchmark), seed=config.seed, beginning=kept, run_id=run_id)
    with run.begin(fs, past=parent.past if parent else None) as log:
        state = fold(LogReader(run.log_path, fs))
        session = Session(run=run, world=world, log=log, state=state, models=opened, runtime=runtime)
        session.registration = registration
        for notice in (*tried, *_notices(config, world, is_taught=has_guidance and not models)):
            session.announce(notice)
        await iterate(session)
    return summarise(run, fs=fs)


def _notices(config: Config, world: World, *, is_taught: bool) -> Iterator[str]:
    if is_taught and asks_guidance(world):
        yield from own_teacher(config, [world.questions[name] for name in world.setting.evolution])
    yield from (*columns_told(world.benchmark), *lone_types(config, world.benchmark))
    if column_roles_of(world.benchmark):  # a benchmark's own types need no check
        yield from given_away(config, world.benchmark, world.splits)
    yield from replacement(config.embedder, world.embedder)
    yield from cutoffs(config, world.splits.events)
    yield from continuation(world)
    yield from left_out(config, world.splits, goes_on=world.parent is not None)


def data_from_python(
    config: Config, tasks: Sequence[Mapping[str, Any]] | None, scorer: str | Scoring | None, benchmark: Benchmark | None
) -> tuple[Config, Benchmark | None]:
    """Return the configuration and the benchmark of a run on data given from Python."""
    if benchmark is not None:
        if tasks is not None or scorer is not None:
            raise UsageError("A benchmark has its own questions and scorer: give it, or tasks and a scorer.")
        return msgspec.structs.replace(config, benchmark=given_name(benchmark)), benchmark
    if tasks is None and scorer is None:
        return config, None
    spec = parse(config.benchmark, **({"scorer": name_of(scorer)} if scorer else {}))
    config = msgspec.structs.replace(config, benchmark=spec.name)
    return config, None if tasks is None else given_tasks(spec.name, tasks)


async def iterate(session: Session) -> None:
    try:
        with followed_by(session.runtime.telemetry, session.run, session.announce):
            async with aclosing(session):
                await run_iterations(session)
    finally:
        if session.state.seq:
            session.run.forget_beginning()
