"""The verb `check`: how a run would use a benchmark."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from mage_es.engine.benchmarks.tasks.columns import why_none
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.run.notices import cutoffs
from mage_es.engine.run.world import World, open_world, require_scoring
from mage_es.engine.seams.benchmark import SPLITS, Repeat, column_roles_of
from mage_es.engine.verbs.preflight import given_away

_WORD = re.compile(r"[^\W_]+")


class RoleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A role that a column of own tasks can have, and the column that has it, or "". If a column has the name but not
    the role, `why` says why."""

    role: str
    column: str
    why: str = ""


class DataReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a run would divide a benchmark: the sizes, what is left out, and copies that go into one split together.

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
    """What gives answers away apart from the text, as `verify` would report it for a run."""
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
        said=(*cutoffs(config, splits.events), *_of_one_form(world)),
    )


def _of_one_form(world: World) -> Iterator[str]:
    """Yield how many held-out tasks of the user's own differ from a task to learn from only in numbers and names."""
    # No copies: another number asks another question, and where all tasks have one form, none could be held out.
    if not column_roles_of(world.benchmark):
        return
    splits, questions = world.splits, world.questions
    learned = {form: name for name in reversed(splits.evolution) if (form := form_of(questions[name].question))}
    alike = {name: learned[form] for name in splits.held_out if (form := form_of(questions[name].question)) in learned}
    for name in islice(alike, 1):
        yield (
            f"{len(alike)} of {len(splits.held_out)} held-out tasks differ from one to learn from in numbers and "
            f"capitalized words alone, such as {name} from {alike[name]}. They are no copies, and are held out: but if "
            "the answer stays the same, an exam asks what was seen, and the row nearest_label of `mage-es try` is high."
        )


def form_of(text: str) -> str:
    """Return a question with a blank for every run of numbers and capitalized words; "" if those are most of it."""
    words = _WORD.findall(text)
    blanks = ["" if _is_filled_in(word) else word for word in words]
    if 2 * blanks.count("") > len(words):
        return ""
    return " ".join(word or "_" for word, before in zip(blanks, ["-", *blanks], strict=False) if word or before)


def _is_filled_in(word: str) -> bool:
    return word[0].isupper() or not word.isalpha()
