"""Two halves of a task file, learned apart and merged, beside one run over both: the same exam of each.

`python -m tests.bench.merge RUNS --execution MODEL` takes the private set `--set` of a seed
(engine/players/worlds/private) as tasks of a user's own: `--learned` questions for each half, which have nothing in
common but 60 test questions. It prints how many of these the model gets right with nothing, with each half, with both
merged, and with one run over all. Without anchors, recall and failure memories of guidance, so that nothing but the
cases differs. A run that is there is not made again.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from mage_es import Config, Run, evolve, examine, merge
from mage_es.engine.benchmarks.tasks.spec import TaskSpec
from mage_es.engine.players.worlds.private.benchmark import PrivateSet
from mage_es.engine.seams.benchmark import Question

ASKED, POOL = 60, 20


def tasks_of(questions: Sequence[Question], split: str) -> list[dict[str, str]]:
    return [{"id": q.id, "question": q.question, "answer": q.gold, "split": split} for q in questions]


def learned(folder: Path, name: str, tasks: list[dict[str, str]], spec: TaskSpec, execution: str, count: int) -> Run:
    run = Run(name, folder / name)
    if not run.path.exists():
        config = Config(
            benchmark=spec.name,
            execution=execution,
            iterations=count // POOL,
            pool=POOL,
            held_out=ASKED,
            anchors=0,
            guard="off",
            gate="off",
            recall=False,
            max_tokens=24,
            failure_memories=False,
        )
        evolve(config, tasks=tasks, runs_dir=folder, run_id=name)
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--execution", required=True)
    parser.add_argument("--set", default="private-labels")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--learned", type=int, default=2 * POOL, help="questions of each half")
    given = parser.parse_args()
    world, count = PrivateSet(given.set, given.seed), given.learned
    golds = sorted({question.gold for question in world.questions("evolution")})
    spec = TaskSpec(given.set, "choice", labels=tuple(golds)) if world.labels else TaskSpec(given.set)
    test = tasks_of(world.questions("test")[:ASKED], "test")
    new = tasks_of(world.questions("evolution")[: 2 * count], "evolution")
    folder = given.runs / f"{given.set}-s{given.seed}"
    one, two, both = (
        learned(folder, name, [*part, *test], spec, given.execution, len(part))
        for name, part in (("one", new[:count]), ("two", new[count:]), ("both", new))
    )
    made = Run("merged", folder / "merged")
    if not made.path.exists():
        merge(one, two, run_id="merged")
    rows = (("nothing", both, "start"), ("one half", one, "latest"), ("the other", two, "latest"))
    print("| who answers | right |\n|---|---|")
    for told, run, at in (*rows, ("both halves merged", made, "latest"), ("one run over both", both, "latest")):
        report = examine(run, at=at)
        print(f"| {told} | {report.correct}/{report.total} |", flush=True)


if __name__ == "__main__":
    main()
