"""Which part of the system has an effect: the full system against the same without one part, on the same seeds.

    python -m tests.bench.parts                                     all parts, ten seeds
    python -m tests.bench.parts --parts frontier guard --seeds 42 43      a slice
    python -m tests.bench.parts --print                             the table of all that lies in --runs-dir

Worlds: `own`, word problems as a file of own tasks that says nothing of types; `workshop`. A cell (world,
part, seed) is one run and one exam on the same held-out questions; its line in parts.jsonl means that it is done, so
slices add up and an interrupted bench goes on. The effect is with minus without, in points, paired by seed, with its
95 % t interval; one that holds zero is "no effect found".
"""

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.players.worlds.wordmath.benchmark import WordMath
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.study.reporting.cells import OF_MEAN, cell_of
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from tests.bench.tables import print_table

FULL = "full"
PARTS: Mapping[str, Mapping[str, Any]] = {
    FULL: {},
    "induced task types": {"task_types": "input"},
    "success memories": {"success_memories": False},
    "failure memories": {"failure_memories": False},
    "principles": {"principles": False},
    "tools": {"tools": False},
    "retrieval recipes": {"retrieval_recipes": False},
    "skill splitting": {"skill_splitting": False},
    "revisits": {"revisit_cap": 0},
    "round-robin over types": {"recency_weight": "0"},
    "mastery ratchet": {"frontier_estimator": "lower_bound"},
    "cascade B, action recipes": {"cascade_action_recipes": False},
}
"""What is set where a part is left out. Action recipes are quoted in episodes only."""
ADDED: Mapping[str, Mapping[str, Any]] = {
    "guard": {"guard": "paired", "anchors": 40},
    "type strategies": {"strategies": True},
    "step decompositions": {"decompositions": True},
    "prompt refinement": {"prompt_refinement": True},
    "bandits": {"bandits": True},
    "cascade A, principles": {"cascade_principles": True},
    "cascade C, plan": {"cascade_plan": True},
    "cascade D, frontier": {"cascade_frontier": True},
    "cascade A, C and D": dict.fromkeys(("cascade_principles", "cascade_plan", "cascade_frontier"), True),
}
"""What is set where a part that is off here is put in. The guard is off in all others: its anchors cost as many calls
as the questions, and a rollback is rare."""
SYSTEMS = {**PARTS, **ADDED}
WORLDS = ("own", "workshop")


class Line(msgspec.Struct, frozen=True):
    """A cell that is done: what was left out, and the share of held-out questions answered right, in percent."""

    world: str
    part: str
    seed: int
    after: float


def main() -> None:
    """Run the cells that are not done yet, then print the table."""
    options = arguments()
    options.runs_dir.mkdir(parents=True, exist_ok=True)
    file = options.runs_dir / "parts.jsonl"
    for seed in () if options.print else options.seeds:
        for world in options.worlds:
            for part in dict.fromkeys((FULL, *options.parts)):
                if (world, part, seed) not in {(line.world, line.part, line.seed) for line in lines(file)}:
                    line = Line(world, part, seed, run_cell(options, world, part, seed))
                    with file.open("ab") as done:
                        done.write(msgspec.json.encode(line) + b"\n")
                    print(line, file=sys.stderr, flush=True)
    print_parts(lines(file))


def arguments() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=["own"])
    parser.add_argument("--parts", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(42, 52)))
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--pool", type=int, default=60)
    parser.add_argument("--held-out", type=int, default=200)
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/parts"))
    parser.add_argument("--keep", action="store_true", help="keep the runs")
    parser.add_argument("--print", action="store_true", help="run nothing")
    return parser.parse_args()


def lines(file: Path) -> list[Line]:
    """Return the cells that are done."""
    return [msgspec.json.decode(line, type=Line) for line in file.read_bytes().splitlines()] if file.exists() else []


def run_cell(options: argparse.Namespace, world: str, part: str, seed: int) -> float:
    """Evolve the system without a part and examine it. The run is not kept: there are hundreds."""
    sizes = {name: getattr(options, name) for name in ("iterations", "pool", "held_out")}
    benchmark = world if world != "own" else own_tasks(options.runs_dir, seed)
    fixed = {"guard": "off", "anchors": 0, "execution": "builtin/analogist" if world == "own" else "benchmark"}
    config = Config(benchmark=benchmark, seed=seed, **{**sizes, **fixed, **SYSTEMS[part]})
    name, runtime = f"{world}-s{seed}-{'-'.join(part.replace(',', '').split())}", Runtime(workers=8)
    shutil.rmtree(options.runs_dir / name, ignore_errors=True)
    evolve(config, runs_dir=options.runs_dir, data_dir=None, runtime=runtime, run_id=name)
    exam = examine(find_run(options.runs_dir, name), at="latest", questions=None, control="none", runtime=runtime)
    shutil.rmtree(options.runs_dir / name) if not options.keep else None
    return 100 * exam.correct / exam.total


def own_tasks(folder: Path, seed: int) -> str:
    """Write word problems as a file of own tasks without task types, and return the name of that benchmark."""
    file = (folder / f"own-{seed}.jsonl").resolve()
    if not file.exists():
        world = WordMath(seed)
        asked = [*world.questions("evolution")[:1500], *world.questions("test")[:400]]
        rows = [
            {"id": q.id, "question": q.question, "answer": q.gold, "solution": q.solution, "split": q.split}
            for q in asked
        ]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return f"tasks/{file}?scorer=number"


def print_parts(done: Sequence[Line]) -> None:
    """Print of each world and part what it is worth."""
    for world in sorted({line.world for line in done}):
        after = {(line.part, line.seed): line.after for line in done if line.world == world}
        rows = []
        for part in SYSTEMS:
            seeds = [seed for name, seed in after if name == part and (FULL, seed) in after]
            sign = -1 if part in ADDED else 1
            cell = cell_of(
                (sign * (after[FULL, seed] - after[part, seed]) for seed in seeds), "points", interval=OF_MEAN
            )
            own = cell_of(after[part, seed] for seed in seeds)
            if cell is None or own is None:
                continue
            shown = ("", "", "")
            if part != FULL and (within := cell.interval):
                found = "" if within.low > 0 or within.high < 0 else "no effect found"
                shown = (f"{cell.mean:+.1f}", f"[{within.low:+.1f}, {within.high:+.1f}]", found)
            rows.append((part, f"{own.mean:.1f}", str(len(seeds)), *shown))
        header = (
            "part",
            "held-out without it (added: with it)",
            "seeds",
            "effect: with minus without",
            "95 % interval",
            "",
        )
        print_table(world, header, rows)


if __name__ == "__main__":
    main()
