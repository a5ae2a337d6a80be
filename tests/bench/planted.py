"""What `effect` finds of memories that were planted, from a real model that was asked everything.

`python -m tests.bench.planted RUNS --execution MODEL` plants cases of a private set (engine/worlds/private) as tasks of
a user's own: a right one of each product, one of each with another team's name, and a note about a parcel with the
name of a team. A run that learns nothing more then asks `--questions` others, all planted cases in each prompt, and
each again without each case, at temperature 0. The mean of all these pairs of a case is its truth. Every PART of the
questions, in their order, are a sample: what `effect` finds on these alone is compared with the truth. A run that is
there is not made again, and no recorded call.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec

import mage_es
from mage_es.engine.benchmarks.tasks.spec import TaskSpec
from mage_es.engine.rules.effect import LEAST_PAIRS
from mage_es.engine.run.directory import Run
from mage_es.engine.run.world import state_of
from mage_es.engine.verbs.effect import on_record
from mage_es.engine.worlds.private.benchmark import PrivateSet
from mage_es.events.log import LogReader
from tests.bench.effect import Found, print_found
from tests.bench.merge import tasks_of
from tests.bench.tables import print_table

PART = LEAST_PAIRS
APART = "private-codes"
"""The set of which a text is of no use here."""
KINDS = ("helpful", "useless", "harmful")


def planted(world: PrivateSet, seed: int, labels: Sequence[str]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return the tasks to plant, each named for what it should be, and the world's other questions."""
    questions = world.questions("evolution")
    first, second = ([[q for q in questions if q.gold == label][place] for label in labels] for place in (0, 1))
    parcel = PrivateSet(APART, seed).questions("evolution")[0]
    plants = [
        *(("helpful", q.question, q.gold) for q in first),
        *(("harmful", q.question, other) for q, other in zip(second, (*labels[1:], labels[0]), strict=True)),
        ("useless", parcel.question, labels[0]),
    ]
    tasks = [
        {"id": f"{kind}-{place}", "question": text, "answer": answer, "split": "evolution"}
        for place, (kind, text, answer) in enumerate(plants)
    ]
    return tasks, tasks_of([q for q in questions if q not in (*first, *second)], "evolution")


def measured(folder: Path, name: str, seed: int, execution: str, count: int) -> tuple[list[Found], list[Found]]:
    """Return what `effect` found on all questions, which is the truth, and on each part of them."""
    world = PrivateSet(name, seed)
    labels = sorted({question.gold for question in world.questions("evolution")})
    plants, others = planted(world, seed, labels)
    spec, test = TaskSpec(name, "choice", labels=tuple(labels)), tasks_of(world.questions("test")[:10], "test")
    config = mage_es.Config(
        benchmark=spec.name,
        seed=seed,
        execution=execution,
        iterations=1,
        pool=len(plants),
        bundle=len(plants),
        held_out=len(test),
        anchors=0,
        guard="off",
        gate="off",
        recall=False,
        retrieval="cosine",  # by a metric, cases that contradict others may count as out of date
        failure_memories=False,
        max_tokens=24,
    )
    taught, asked = (Run(name, folder / name) for name in (f"planted-s{seed}", f"asked-s{seed}"))
    if not taught.path.exists():
        mage_es.evolve(config, tasks=[*plants, *test], runs_dir=folder, run_id=taught.id)
    if not asked.path.exists():
        quiet = msgspec.structs.replace(config, cases=False, success_memories=False, pool=count)
        mage_es.evolve(quiet, tasks=[*others[:count], *test], from_run=taught, runs_dir=folder, run_id=asked.id)
    report = mage_es.effect(asked, top=len(plants), reask=True)
    memory, learned = state_of(asked, LogReader(asked.log_path)).memory, on_record(asked)
    kinds = {row.name: memory.row(row.name).question_id.partition("-")[0] for row in report.rows}
    truth = {row.name: row.paired.points or 0.0 for row in report.rows if row.paired}
    shown = [each for each in learned.askings if each.shown]
    parts = [shown[first : first + PART] for first in range(0, len(shown), PART)]

    def of(rows: Sequence[mage_es.EffectRow]) -> list[Found]:
        return [Found(seed, row.name, kinds[row.name], truth[row.name], row.paired) for row in rows if row.paired]

    return of(report.rows), [one for part in parts for one in of(learned._replace(askings=part).rows())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--execution", required=True)
    parser.add_argument("--set", default="private-labels?labels=2")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--questions", type=int, default=4 * PART)
    given = parser.parse_args()
    found = list[Found]()
    for seed in range(given.first, given.first + given.seeds):
        whole, parts = measured(given.runs, given.set, seed, given.execution, given.questions)
        found += parts
        rows = [
            (one.kind, f"{one.truth:+.1f}", str(one.paired.pairs), f"+{one.paired.won} -{one.paired.lost}")
            for one in sorted(whole, key=lambda one: KINDS.index(one.kind))
        ]
        print_table(f"Seed {seed}", ("planted as", "points", "pairs", "won, lost"), rows)
    print_found(found, "planted as", "samples")


if __name__ == "__main__":
    main()
