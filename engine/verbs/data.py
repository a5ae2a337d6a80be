"""The verb `check`: how a run would use a benchmark; and which benchmarks' files can be fetched."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mage_es.engine.benchmarks.registry import source_of
from mage_es.engine.benchmarks.tasks.columns import why_none
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.run.cutoffs import cutoffs
from mage_es.engine.run.target_leaks import target_leaks
from mage_es.engine.run.world import open_world, require_scoring
from mage_es.engine.seams.benchmark import SPLITS, Repeat, column_roles_of


class RoleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A role that a column of own tasks can have: the column that has it, "" for none, and then `why` if one would have
    it by its name."""

    role: str
    column: str
    why: str = ""


class DataReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a run would divide a benchmark: sizes, what is left out, near-duplicates that go into one split together.

    `columns` are those of own tasks, one for each role.
    """

    benchmark: str
    columns: tuple[RoleRow, ...]
    evolution: int
    anchors: int
    held_out: int
    task_types: int
    left_out: tuple[Repeat, ...]
    groups: tuple[tuple[str, ...], ...]
    leaks: tuple[str, ...]
    """What gives the answers away besides the text, as `verify` would report for a run."""
    said: tuple[str, ...]


def check(config: Config, *, data_dir: Path | str | None) -> DataReport:
    """Divide a benchmark's questions as a run would, say what is left out, and see that they can be scored. Raises
    whatever opening it raises."""
    world = open_world(msgspec.structs.replace(config, search=""), data_dir=data_dir, embedder=HashEmbedder())
    require_scoring(world, "a run")
    benchmark, splits, columns = world.benchmark, world.splits, column_roles_of(world.benchmark)
    return DataReport(
        benchmark=config.benchmark,
        columns=tuple(
            RoleRow(role=role, column=name, why="" if name else why_none(role, columns))
            for role, name in columns.items()
        ),
        evolution=len(splits.evolution),
        anchors=len(splits.anchors),
        held_out=len(splits.held_out),
        task_types=len({question.task_type for split in SPLITS for question in benchmark.questions(split)}),
        left_out=splits.repeats,
        groups=splits.groups,
        leaks=target_leaks(config, benchmark, splits),
        said=cutoffs(config, splits.events),
    )


def is_fetched(name: str) -> bool:
    return source_of(name) is not None


def is_absent(name: str, data_dir: Path) -> bool:
    """Return whether the data of a benchmark could be fetched and its folder does not exist."""
    source = source_of(name)
    return source is not None and not (data_dir / (source.folder or name)).exists()
