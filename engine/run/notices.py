"""Sentences on what was reduced because a benchmark has fewer questions than a run asks for."""

import shlex
from collections import Counter
from collections.abc import Iterable

from mage_es.engine.benchmarks.tasks.columns import why_none
from mage_es.engine.config import Config
from mage_es.engine.rules.splits import ANCHOR_SHARE, Splits
from mage_es.engine.run.questions import all_questions
from mage_es.engine.run.world import World
from mage_es.engine.seams.benchmark import Benchmark, column_roles_of
from mage_es.events.vocabulary import QuestionsStored, SplitCommitted

SHOWN = 5
_DEFAULT = Config(benchmark="").held_out


def cutoffs(config: Config, splits: Iterable[SplitCommitted], *, has_guard: bool = True) -> tuple[str, ...]:
    """Return a sentence for each split that is smaller than requested. By default as many questions as possible are
    held out.

    Missing anchors matter only to the guard, and a baseline has no guard.
    """
    sizes, found = {split.split: split.size for split in splits}, []
    held_out = sizes["held_out"]
    if config.held_out != _DEFAULT and held_out < config.held_out:
        found.append(f"{held_out} questions are held out, not the {config.held_out} of --held-out: there are no more.")
    if has_guard and config.guard == "paired" and (anchors := sizes["anchors"]) < config.anchors:
        most = f"at most {ANCHOR_SHARE:.0%} of the evolution questions are taken"
        found.append(f"The guard compares {anchors} anchors, not the {config.anchors} of --anchors: {most}.")
    return tuple(found)


def continuation(world: World) -> tuple[str, ...]:
    """Return a sentence on what a new run continues from, and what its splits keep separate; () if it does not continue
    another."""
    if not (parent := world.parent):
        return ()
    event, known = parent.event, next(parent.reader.of(QuestionsStored)).ids
    new = len(world.questions) - len(known)
    cut = f"; {len(event.resembling)} resemble what it wrote, and are left out" if event.resembling else ""
    sentence = f"Continues {event.parent} with its {len(known)} questions and {new} new ones"
    return (f"{sentence}: what it learned from is not examined, what it held out is not learned from{cut}.",)


def left_out(config: Config, splits: Splits, *, goes_on: bool = False) -> tuple[str, ...]:
    """Return a sentence that names the questions that are in no split because others repeat them; () if there are none.

    The log holds what was taken, not what was available, so only the code that divides the questions can tell.
    `goes_on`: the run continues another, which `data check` does not know about.
    """
    if not (repeats := splits.repeats):
        return ()
    subject = "1 question is left out" if len(repeats) == 1 else f"{len(repeats)} questions are left out"
    named = "; ".join(map(str, repeats[:SHOWN]))
    where = "..." if goes_on else f"`mage-es doctor {shlex.quote(config.benchmark)} --no-calls` lists all"
    more = f"; {where}" if len(repeats) > SHOWN else ""
    return (f"{subject}: {named}{more}.",)


def lone_types(config: Config, benchmark: Benchmark) -> tuple[str, ...]:
    """Return a sentence on a column of own tasks that gives most task types a single task, as an id would; () if there
    is none."""
    column = column_roles_of(benchmark).get("task_type", "")
    if not column or config.task_types != "benchmark":
        return ()
    types = Counter(question.task_type for question in all_questions(benchmark))
    lone = sum(count == 1 for count in types.values())
    if len(types) == 1 or 2 * lone <= len(types):
        return ()
    return (
        f"The column {column} is taken for the task type, and {lone} of its {len(types)} types have a single task. "
        "What is learned is kept by type: if it names no types, leave it out with --columns task_type= (after a comma, "
        "if you name other columns).",
    )


def columns_told(benchmark: Benchmark) -> tuple[str, ...]:
    """Return a sentence that names the column of each role in the user's own tasks; () for a benchmark."""
    if not (columns := column_roles_of(benchmark)):
        return ()

    taken = ", ".join(f"{role}={name}" for role, name in columns.items() if name)
    none = ", ".join(
        f"{role} ({why})" if (why := why_none(role, columns)) else role for role, name in columns.items() if not name
    )
    return (f"Columns: {taken}; none for {none}.",)
