"""A served run: a separate run beside the one whose state it serves, created at the first start and continued later.

Rules
    - It begins, in one commit, with everything that its parent had learned at a marker (engine/run/inheriting.py),
      closed at that marker. So it can be replayed, verified and asked without the parent, and starting it calls no
      model.
    - Its iterations are publishes. It learns in no other way.
    - One process writes it. What the parent does later changes nothing here.
"""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.registry import title
from mage_es.engine.config import Config, parse
from mage_es.engine.rules.forms import CHOOSING, USUAL
from mage_es.engine.run.directory import Run, clock, create_run, require_name
from mage_es.engine.run.inheriting import Parent, inheritance, is_served, read_parent
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.questions import recorded_benchmark
from mage_es.engine.run.served import SUFFIX
from mage_es.engine.run.world import World, open_world, reopen_world, state_of, templates_of
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.session.beginning import begin_at_once
from mage_es.events.disk import FileSystem
from mage_es.events.errors import RunLocked, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.log.markers import Marker
from mage_es.events.vocabulary import FormDecided, IterationClosed, RunInherited
from mage_es.projections.fold import State


class ServedRun(NamedTuple):
    """A served run, its log open for writing, and the state after its last event."""

    run: Run
    log: Log
    world: World
    state: State


class ReadyToServe(NamedTuple):
    """The run that is to serve, which may not exist yet, and what creates or continues it, as `open` tells."""

    run: Run
    open: Callable[[], ServedRun]
    """Raises `RunLocked` if another process serves it."""


def ready_to_serve(
    run: Run,
    at: str = "latest",
    *,
    name: str | None = None,
    layout: str = "",
    runs_dir: Path | str | None = None,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    embedder: Embedder | None = None,
    fs: FileSystem | None = None,
    require: Callable[[Run, World], None] = lambda served, world: None,
) -> ReadyToServe:
    """Return what opens the run that serves what `run` had learned at a closed iteration, called `name`, by default
    RUN-served, once all that could forbid it is checked: nothing is created or recorded before.

    It is created beside `run` (or in `runs_dir`) if it does not exist, and continued otherwise: `latest` is then the
    marker that it was started at. `run` may also be a served run itself. `layout` is how it shows cases, to clients and
    in its own anchors and exams, by default as `run` does. `require` raises whatever else forbids serving.

    Raises:
        UsageError: There is no such closed iteration; the run is a baseline, plays episodes or has subjects; or the
            name belongs to another run, or to one that serves another run, marker or layout.
        PrerequisiteError: A data set is missing, or the embedder differs.
    """
    folder = run.path.parent if runs_dir is None else Path(runs_dir)
    called = name or run.id + SUFFIX
    served = run if is_served(LogReader(run.log_path)) else Run(called, folder / called)
    parent: Parent | None = None
    if served.path.is_dir() and served.events > 0:
        _require_same(served, run, at)
        reader = LogReader(served.log_path, fs)
        world = reopen_world(reader, data_dir=data_dir, benchmark=benchmark, embedder=embedder)
        _require_layout(served, world, layout)
    else:
        require_name(served.id)
        parent, world = _parent(run, at, folder, data_dir, benchmark, embedder, layout=layout)
    require(served, world)

    def opened() -> ServedRun:
        try:
            if parent:
                created = create_run(folder, benchmark=title(world.benchmark.name), seed=0, run_id=served.id)
                log = created.begin(fs, past=parent.past)
            else:
                log = Log.open(served.log_path, clock=clock, fs=fs)
        except RunLocked as error:
            raise RunLocked(
                f"{error} Only one process can serve a run: send its requests there, or record these in another run "
                "with --run-id OTHER (in Python name='OTHER', or `close` the one that was opened first)."
            ) from None
        with ExitStack() as undo:
            undo.callback(log.close)
            begun = begin_at_once(served, log, world, parent) if parent else None
            state = begun or state_of(served, LogReader(served.log_path, fs))
            undo.pop_all()
        return ServedRun(served, log, world, state)

    return ReadyToServe(served, opened)


def _require_same(served: Run, run: Run, at: str) -> None:
    """Raise `UsageError` if an existing run does not serve `run` at a marker."""
    begun = inheritance(LogReader(served.log_path))
    if served is run:
        if at != "latest":
            raise UsageError(
                f"{run.id} is served from its latest state; `--at {at}` is for the run that it was started from. To "
                f"serve {at} of it, start another: `mage-es serve {run.id} --at {at} --run-id OTHER`."
            )
        return
    if begun is None or not begun.is_served or begun.parent != run.id:
        what = f"serves {begun.parent}" if begun and begun.is_served else "is not a run that serves another"
        raise UsageError(f"{served.path} {what}, not {run.id}: choose another name with `--run-id`.")
    if at != "latest":
        reader = LogReader(run.log_path)
        if reader.resolve(at) != reader.resolve(_marker(begun)):
            raise UsageError(
                f"{served.id} was started at {_marker(begun)} of {run.id}, not at {at}: omit `--at` to continue it, "
                "or start another one with `--run-id`."
            )
        latest = Marker("iteration", max(event.iteration for event in LogReader(served.log_path).of(IterationClosed)))
        if str(latest) != _marker(begun):
            raise UsageError(
                f"{served.id} was started at {_marker(begun)} and has published since: omit `--at` to continue at "
                f"{latest}, or serve {at} as it was with `--run-id OTHER`."
            )


def _require_layout(served: Run, world: World, layout: str) -> None:
    """Raise `UsageError` if an existing run shows cases in another way, which its anchors measure."""
    if layout and layout != (now := world.setting.config.form):
        raise UsageError(
            f"{served.id} has shown cases as {now} since it began, and its anchors and exams measure that: omit "
            "--layout, or start another run with `--run-id`."
        )


def _marker(begun: RunInherited) -> str:
    return str(Marker("iteration", begun.iteration))


def _parent(
    run: Run,
    at: str,
    folder: Path,
    data_dir: Path | str | None,
    benchmark: Benchmark | None,
    embedder: Embedder | None,
    *,
    layout: str,
) -> tuple[Parent, World]:
    """Return what to serve, and the world of the run that will serve it."""
    parent = read_parent(run, at, runs_dir=folder, prices=Prices())
    parent = parent._replace(event=msgspec.structs.replace(parent.event, is_served=True))
    # Its own questions, as it stored them: the current content of the task file is not part of what is served.
    opened, _ = recorded_benchmark(parent.reader, parent.started, data_dir=data_dir)
    if is_sequential(benchmark or opened):
        raise UsageError(
            f"The tasks of {run.id} are episodes, played in an environment: there is no question to add memories to."
        )
    config = parse(parent.started.config)
    world = open_world(
        msgspec.structs.replace(config, form=layout or _form(config, parent)),
        data_dir=data_dir,
        benchmark=benchmark or opened,
        embedder=embedder,
        guidance_room=parent.started.guidance_room,
        parent=parent,
        templates=templates_of(parent.started),
    )
    assert world.parent is not None
    return world.parent, world._replace(parent=None)


def _form(config: Config, parent: Parent) -> str:
    """Return how a run shows cases at a marker; the choice of a trial becomes the served run's own setting."""
    tried = [event.form for event in parent.reader.of(FormDecided, until=parent.event.seq)]
    return (tried or [USUAL])[-1] if config.form in CHOOSING else config.form
