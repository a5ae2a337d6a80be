"""The verb `merge`: a new run with the memories of two others over the same benchmark, on probation.

Rules
    - No model is called, and neither run changes. The new run's log has everything that it took, so it no longer needs
      them.
    - It is finished at once: it can be examined and served, and `evolve --from` continues it. There a coin decides
      whether its memories are shown, until their effect is not negative (rules/probation.py).
    - It has the settings of the first run, with room for the anchors and held-out questions of both.
"""

from collections import Counter
from pathlib import Path

import msgspec

from mage_es.engine.benchmarks.registry import title
from mage_es.engine.config import parse
from mage_es.engine.histories.merging import merger_of, questions_of, require_mergeable, within
from mage_es.engine.run.directory import Run, as_run, create_run
from mage_es.engine.run.inheriting import read_parent
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.questions import recorded_benchmark
from mage_es.engine.run.world import open_world, templates_of
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.session.beginning import begin_at_once
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.events.log.markers import mark_of
from mage_es.events.vocabulary import RunMerged


class MergedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a run brought to a merge: how many of its memories were `taken`, and how much was left out, by reason:
    `question`, `origin`, `kind` (`LeftOut` says what they mean)."""

    run_id: str
    marker: str
    taken: int
    left_out: dict[str, int]


class MergeReport(msgspec.Struct, frozen=True, kw_only=True):
    """A merged run: what each of two runs brought, its total number of memories, how many `both` had, and the sizes of
    its splits."""

    run_id: str
    path: str
    parents: tuple[MergedRun, ...]
    memories: int
    both: int
    evolution: int
    anchors: int
    held_out: int


@typed
def merge(
    run: Run | Path | str,
    other: Run | Path | str,
    *,
    at: tuple[str, str] = ("latest", "latest"),
    run_id: str | None = None,
    runs_dir: Path | str | None = None,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
) -> MergeReport:
    """Make a run with the memories of two, each at a closed iteration, and return what it took.

    It is called `run_id`, by default both names together, and is created in the first one's folder unless `runs_dir` is
    given. `benchmark` is the object that the runs began with, if they got one from Python.

    Raises:
        UsageError: The runs differ in benchmark, models, or how questions are asked and answers read; one has not
        closed an iteration, is a baseline or has subjects; or the name is taken.
        PrerequisiteError: A data set is missing, or a copy lacks its gold answers.
        LogDamaged: A log fails its checksums.
    """
    runs = [as_run(each) for each in (run, other)]
    folder = runs[0].path.resolve().parent if runs_dir is None else Path(runs_dir)
    one, two = (
        read_parent(each, marker, runs_dir=folder, prices=Prices()) for each, marker in zip(runs, at, strict=True)
    )
    require_mergeable(one, two)
    merger = merger_of(one, two)
    config = parse(one.started.config)
    both = merger.parent.event
    room = {"anchors": max(config.anchors, len(both.anchors)), "held_out": max(config.held_out, len(both.held_out))}
    base = benchmark or recorded_benchmark(one.reader, one.started, data_dir=data_dir)[0]
    world = open_world(
        msgspec.structs.replace(config, **room),
        data_dir=data_dir,
        benchmark=questions_of(merger, base, config),
        guidance_room=one.started.guidance_room,
        parent=merger.parent,
        templates=templates_of(one.started),
    )
    assert world.parent is not None
    merger = within(merger, world.splits, world.parent.event.resembling)
    made = create_run(
        folder,
        benchmark=title(config.benchmark),
        seed=config.seed,
        run_id=run_id or f"{runs[0].id}+{runs[1].id}",
        option="--run-id",
    )
    with made.begin() as log:
        begin_at_once(made, log, world, merger.parent, is_all=True)
    taken = {mark.parent: mark for mark in merger.marks}
    marks = [taken[parent.event.parent] for parent in (one, two)]
    return MergeReport(
        run_id=made.id,
        path=str(made.path),
        parents=tuple(map(_brought, marks)),
        memories=len(merger.learned.by_id),
        both=len({*marks[0].memory_ids} & {*marks[1].memory_ids}),
        evolution=len(world.splits.evolution),
        anchors=len(world.splits.anchors),
        held_out=len(world.splits.held_out),
    )


amerge = in_thread(merge)


def _brought(mark: RunMerged) -> MergedRun:
    return MergedRun(
        run_id=mark.parent,
        marker=mark_of(mark.iteration),
        taken=len(mark.memory_ids),
        left_out=dict(sorted(Counter(each.reason for each in mark.left_out).items())),
    )
