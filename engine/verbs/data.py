"""The verb `check`: how a run would use a benchmark."""

from pathlib import Path

import msgspec

from mage_es.engine.benchmarks.tasks.columns import why_none
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.run.notices import cutoffs
from mage_es.engine.run.world import World, open_world, require_scoring
from mage_es.engine.seams.benchmark import SPLITS, Repeat, column_roles_of
from mage_es.engine.verbs.preflight import given_away


class RoleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A role that a column of own tasks can have, and the column that has it, or "". If a column has the name but not
    the role, `why` says why."""

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


def tasks_of(config: Config, data_dir: Path | str | None) -> World:
    """Open a benchmark and divide its questions as a run would. Raises whatever opening it raises."""
    # Only `hash` embeds here: nothing is embedded, and an embedder may cost something.
    return open_world(msgspec.structs.replace(config, search=""), data_dir=data_dir, embedder=HashEmbedder())


def check(config: Config, world: World) -> DataReport:
    """Return how a run divides its questions and what is left out. Raises `PrerequisiteError` if they cannot be
    scored."""
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
        leaks=given_away(config, benchmark, splits),
        said=cutoffs(config, splits.events),
    )
