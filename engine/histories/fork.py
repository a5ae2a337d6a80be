"""The verb `fork`: a new run with what another had learned by some moment, without its future and without a copy.

Rules
    - No model is called, and the other run does not change. Its log is hard-linked into the new run's, so the other may
      be deleted.
    - The new run is only started: `resume` takes it through its iterations, as if `evolve` had been stopped at its very
      start.
    - The time needed grows with the length of the other's log, not with what it learned: nothing is folded.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mage_es.engine.benchmarks.registry import title, with_own_models
from mage_es.engine.benchmarks.tasks.scorers import Scoring
from mage_es.engine.config import Config, checked, parse
from mage_es.engine.decide import decide
from mage_es.engine.models.registry import open_model
from mage_es.engine.run.directory import Beginning, Run, as_run, create_run
from mage_es.engine.run.inheriting import read_parent
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.world import open_world
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.session.beginning import store_questions
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.engine.verbs.evolve import data_from_python
from mage_es.engine.verbs.preflight import room_for_briefs
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.log.markers import mark_of
from mage_es.projections.fold import State


class ForkReport(msgspec.Struct, frozen=True, kw_only=True):
    """A run that starts from `marker` of its `parent`, after `events` of the parent's log, whose head is `head`; and
    the sizes of the run's splits."""

    run_id: str
    path: str
    parent: str
    marker: str
    events: int
    head: str
    evolution: int
    anchors: int
    held_out: int


@typed
def fork(
    run: Run | Path | str,
    *,
    at: str = "latest",
    config: Config | None = None,
    tasks: Sequence[Mapping[str, Any]] | None = None,
    scorer: str | Scoring | None = None,
    benchmark: Benchmark | None = None,
    runs_dir: Path | str | None = None,
    data_dir: Path | str | None = None,
    run_id: str | None = None,
    prices: Prices | None = None,
) -> ForkReport:
    """Start a run with what another had learned at a closed iteration, and return what it has; `resume` continues it.

    It has the other's settings, unless a `config` gives others, and its questions besides those of `tasks`. `benchmark`
    is the object that the run began with, if it got one from Python. It is created next to the other, or in `runs_dir`.

    Raises:
        UsageError: There is no such closed iteration, the run is a baseline or has subjects, the configuration is of
        another benchmark, or the name is taken.
        PrerequisiteError: A data set is missing, or the disk refuses.
        LogDamaged: The log fails its checksums.
    """
    run = as_run(run)
    folder = run.path.resolve().parent if runs_dir is None else Path(runs_dir)
    execution = with_own_models(config).execution if config else ""
    parent = read_parent(run, at, runs_dir=folder, prices=prices or Prices(), execution=execution)
    config, benchmark = data_from_python(checked(config or parse(parent.started.config)), tasks, scorer, benchmark)
    room = _room(with_own_models(config).guidance)
    world = open_world(config, data_dir=data_dir, benchmark=benchmark, guidance_room=room, parent=parent)
    beginning = None if benchmark else Beginning(config, at=at, from_run=str(run.path.resolve()))
    made = create_run(folder, benchmark=title(config.benchmark), seed=config.seed, beginning=beginning, run_id=run_id)
    with made.begin(past=parent.past) as log:
        log.append(decide(world.setting, State(), store_questions(made, log, world)))
    made.forget_beginning()
    return ForkReport(
        run_id=made.id,
        path=str(made.path),
        parent=run.id,
        marker=mark_of(parent.event.iteration),
        events=parent.event.seq,
        head=parent.event.head_chain,
        evolution=len(world.splits.evolution),
        anchors=len(world.splits.anchors),
        held_out=len(world.splits.held_out),
    )


def _room(guidance: str) -> int:
    """Return the room for briefs, or 0 if the model cannot be opened here: it is needed only when the run is
    resumed."""
    try:
        return room_for_briefs(open_model(guidance, "guidance"))
    except (PrerequisiteError, UsageError):
        return 0


afork = in_thread(fork)
