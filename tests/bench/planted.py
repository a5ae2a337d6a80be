"""What `effect` finds of memories that were planted, from a real model that was asked everything.

`python -m tests.bench.planted RUNS --execution MODEL` plants cases of a private set (engine/players/worlds/private) as
tasks of a user's own: of one product a right one, of another a right one and one with the wrong team, and two of a
third, which no question is about. A run that learns nothing more then asks `--questions` about the first two, the SHOWN
nearest of these cases in each prompt, and each again without each case that it saw, at temperature 0. The mean of all
these pairs of a case is its truth. Each PART of them, in their order, are a sample: what `effect` finds on these alone
is compared with the truth. Such a sample is a large share of a case's pairs, so its interval has the truth more easily;
therefore the intervals of DRAWS samples of each case, drawn with replacement, are counted as well. A run that is there
is not made again, and no recorded call.
"""

import argparse
import random
from pathlib import Path

import msgspec

import mage_es
from mage_es.engine.benchmarks.tasks.spec import TaskSpec
from mage_es.engine.players.worlds.private.benchmark import PrivateSet
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import by_question
from mage_es.engine.run.world import state_of
from mage_es.engine.worth.effect import LEAST_PAIRS, pairs_of, to_ask
from mage_es.engine.worth.worth import on_record
from mage_es.events.log import LogReader
from tests.bench.effect import Found, print_found
from tests.bench.merge import tasks_of
from tests.bench.tables import print_table

SET = "private-labels?labels=3"
"""Three teams, each with one product."""
PART, SHOWN, DRAWS = LEAST_PAIRS, 3, 100
KINDS = ("helpful", "useless", "harmful")


def planted(world: PrivateSet) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return the tasks to plant, each named for what it should be, and the questions to ask."""
    questions = world.questions("evolution")
    first, second, third = (
        [q for q in questions if q.gold == label] for label in sorted({question.gold for question in questions})
    )
    plants = [
        ("helpful", first[0].question, first[0].gold),
        ("helpful", second[0].question, second[0].gold),
        ("harmful", second[1].question, first[0].gold),
        *(("useless", q.question, q.gold) for q in third[:2]),
    ]
    tasks = [
        {"id": f"{kind}-{place}", "question": text, "answer": answer, "split": "evolution"}
        for place, (kind, text, answer) in enumerate(plants)
    ]
    return tasks, tasks_of([q for pair in zip(first[2:], second[2:], strict=False) for q in pair], "evolution")


def measured(folder: Path, seed: int, execution: str, count: int) -> tuple[list[Found], list[Found], int]:
    """Return what `effect` found on all questions, which is the truth, and on each part of them; and how many intervals
    of drawn samples have the truth."""
    world = PrivateSet(SET, seed)
    plants, others = planted(world)
    labels = sorted({question.gold for question in world.questions("evolution")})
    spec, test = TaskSpec(SET, "choice", labels=tuple(labels)), tasks_of(world.questions("test")[:10], "test")
    config = mage_es.Config(
        benchmark=spec.name,
        seed=seed,
        execution=execution,
        iterations=1,
        pool=len(plants),
        bundle=SHOWN,
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
    whole, parts, covered = list[Found](), list[Found](), 0
    for row in report.rows:
        assert row.paired is not None and row.paired.points is not None
        kind = memory.row(row.name).question_id.partition("-")[0]
        whole.append(Found(seed, row.name, kind, row.paired.points, row.paired))
        saw = [asking for asking in learned.askings if row.name in asking.shown]
        for first in range(0, len(saw) - PART + 1, PART):
            sample = learned._replace(askings=saw[first : first + PART]).rows()
            parts += [whole[-1]._replace(paired=each.paired) for each in sample if each.name == row.name]
        pairs = pairs_of(to_ask(saw, frozenset((row.name,))), learned.reasked)
        dice, changes = random.Random(row.name), [float(right) - float(without) for right, without in pairs]
        for _ in range(DRAWS):
            drawn = by_question(dice.choices(changes, k=PART))
            covered += drawn.low <= row.paired.points <= drawn.high
    return whole, parts, covered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--execution", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--questions", type=int, default=6 * PART)
    given = parser.parse_args()
    found, memories, covered = list[Found](), 0, 0
    for seed in range(given.first, given.first + given.seeds):
        whole, parts, drawn = measured(given.runs, seed, given.execution, given.questions)
        found, memories, covered = found + parts, memories + len(whole), covered + drawn
        rows = [
            (one.kind, f"{one.truth:+.1f}", str(one.paired.pairs), f"+{one.paired.won} -{one.paired.lost}")
            for one in sorted(whole, key=lambda one: KINDS.index(one.kind))
        ]
        print_table(f"Seed {seed}", ("planted as", "points", "pairs", "won, lost"), rows)
    print_found(found, "planted as", "samples")
    print(f"Samples drawn with replacement: truth in the interval of {covered} of {DRAWS * memories}.")


if __name__ == "__main__":
    main()
