"""What a run on a generated benchmark gains, and what each part of the system has to do with it.

    python tests/bench/gains.py                                         five seeds, all systems, wordmath
    python tests/bench/gains.py --benchmark truthworld                  the same in truthworld
    python tests/bench/gains.py --systems full --seeds 42 --iterations 3 --pool 60     a quick look

For each seed: the full system, and the same with one part switched off. Each is examined on the same held-out
questions before iteration 0 and after the last; the full system also with bundles shuffled across task types. How
often the full system took each search arm, route and action is printed too. Runs and exams are kept in --runs-dir,
so every number can be replayed.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.evolution import evolve
from mage_es.engine.exam import examine
from mage_es.engine.reports import ExamReport, GroupScore
from mage_es.engine.runs import find_run
from mage_es.engine.runtime import Runtime
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import ActionTaken, QuestionPlanned

SYSTEMS: dict[str, dict[str, Any]] = {
    "full": {},
    "no success memories": {"success_memories": False},
    "no failure memories": {"failure_memories": False},
    "no principles": {"principles": False},
    "no bandits": {"bandits": False},
    "no guard": {"guard": "off"},
    "no cascade": dict.fromkeys(
        ("cascade_principles", "cascade_action_recipes", "cascade_plan", "cascade_frontier"), False
    ),
}


class Cell(msgspec.Struct):
    """One system on one seed: the exams before, after, and after with shuffled bundles (full system only), and how
    often each choice was made."""

    system: str
    seed: int
    before: ExamReport
    after: ExamReport
    shuffled: ExamReport | None
    choices: dict[str, int]


def main() -> None:
    """Run every cell and print the tables."""
    options = arguments()
    jobs = [(options, system, seed) for seed in options.seeds for system in options.systems]
    with ProcessPoolExecutor(options.processes) as pool:
        cells = {(cell.system, cell.seed): cell for cell in pool.map(run_cell, jobs)}
    print_seeds(cells, options.seeds)
    print_systems(cells, options)
    print_choices([cells["full", seed].choices for seed in options.seeds])


def arguments() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", default="wordmath")
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[42, 43, 44, 45, 46])
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--pool", type=int, default=200)
    parser.add_argument("--held-out", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/gains"))
    return parser.parse_args()


def run_cell(job: tuple[argparse.Namespace, str, int]) -> Cell:
    """Evolve one system on one seed and set its exams."""
    options, system, seed = job
    config = Config(
        benchmark=options.benchmark,
        seed=seed,
        iterations=options.iterations,
        pool=options.pool,
        held_out=options.held_out,
        **SYSTEMS[system],
    )
    name = f"{options.benchmark}-s{seed}-{system.replace(' ', '-')}"
    evolve(config, runs_dir=options.runs_dir, data_dir=None, runtime=Runtime(workers=8), run_id=name)
    run = find_run(options.runs_dir, name)

    def exam(at: str, control: str = "none") -> ExamReport:
        return examine(run, at=at, questions=None, control=control, data_dir=None, runtime=Runtime(workers=8))

    shuffled = exam("latest", "shuffled") if system == "full" else None
    return Cell(system, seed, exam("start"), exam("latest"), shuffled, choices_of(LogReader(run.log_path)))


def choices_of(reader: LogReader) -> dict[str, int]:
    """Return how often each search arm and route was planned, and each action was taken with which outcome."""
    counts: Counter[str] = Counter()
    for record in reader.records({QuestionPlanned, ActionTaken}):
        match record.event:
            case QuestionPlanned() as planned:
                counts[f"search arm `{planned.search_arm}`"] += 1
                counts[f"route `{planned.routing_arm}`"] += 1
            case ActionTaken() as taken:
                counts[f"action `{taken.action}`"] += 1
                counts[f"action `{taken.action}`, something written"] += taken.authored > 0
    return dict(counts)


def print_seeds(cells: dict[tuple[str, int], Cell], seeds: list[int]) -> None:
    """Print the full system seed by seed: before, after, gain, gain on unseen phrasings, the shuffled control."""
    print("\n| seed | before | after | gain | gain, phrasings seen | gain, phrasings unseen | gain, shuffled |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    for seed in seeds:
        cell = cells["full", seed]
        assert cell.shuffled is not None
        before, after = rate(cell.before), rate(cell.after)
        seen = share(cell.after.familiar) - share(cell.before.familiar)
        unseen = share(cell.after.unfamiliar) - share(cell.before.unfamiliar)
        rows.append((before, after, after - before, seen, unseen, rate(cell.shuffled) - before))
        print(
            f"| {seed} | "
            + " | ".join(f"{value:+.1f}" if i > 1 else f"{value:.1f}" for i, value in enumerate(rows[-1]))
            + " |"
        )
    means = [statistics.mean(column) for column in zip(*rows, strict=True)]
    print(
        "| mean | " + " | ".join(f"{value:+.1f}" if i > 1 else f"{value:.1f}" for i, value in enumerate(means)) + " |"
    )


def print_systems(cells: dict[tuple[str, int], Cell], options: argparse.Namespace) -> None:
    """Print each system's exam after the run, and its paired difference to the full system with a 95 % interval."""
    print("\n| system | after, mean (sd) | n | full minus this, mean | 95 % interval |")
    print("|---|---|---|---|---|")
    seeds = options.seeds
    full = [rate(cells["full", seed].after) for seed in seeds]
    for system in options.systems:
        own = [rate(cells[system, seed].after) for seed in seeds]
        deviation = statistics.stdev(own) if len(own) > 1 else 0.0
        row = f"| {system} | {statistics.mean(own):.1f} ({deviation:.1f}) | {len(own)} "
        differences = [a - b for a, b in zip(full, own, strict=True)]
        print(
            row
            + (f"| {statistics.mean(differences):+.1f} | {interval(differences)} |" if system != "full" else "| | |")
        )


def print_choices(found: list[dict[str, int]]) -> None:
    """Print for each arm, route and action how often the full system took it: the fewest times in a run, and in all."""
    print("\n| choice | fewest in a run | all runs |")
    print("|---|---|---|")
    for name in sorted({name for choices in found for name in choices}):
        counts = [choices.get(name, 0) for choices in found]
        print(f"| {name} | {min(counts)} | {sum(counts)} |")


def rate(report: ExamReport) -> float:
    """Return an exam's accuracy in percent."""
    return 100 * report.correct / report.total


def share(score: GroupScore | None) -> float:
    """Return a group's accuracy in percent."""
    return 100 * score.correct / score.total if score and score.total else 0.0


def interval(differences: list[float]) -> str:
    """Return the 95 % t interval of the mean of differences paired by seed."""
    from scipy.stats import t

    if len(differences) < 2:
        return "n/a"
    half = t.ppf(0.975, len(differences) - 1) * statistics.stdev(differences) / len(differences) ** 0.5
    mean = statistics.mean(differences)
    return f"[{mean - half:+.1f}, {mean + half:+.1f}]"


if __name__ == "__main__":
    main()
