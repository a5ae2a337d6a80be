"""What a run on episodes gains, and what of it is due to what the graph says about the very task.

    python tests/bench/workshop.py                          five seeds, three systems: about half an hour on two cores
    python tests/bench/workshop.py --seeds 42 --iterations 3 --pool 20      a quick look

For each seed: the full system, the same without success memories, and without exploration. Each is examined on the
same held-out tasks before iteration 0 and after the last; the full system also with the graph consulted as a task of
another type (control `shuffled`). Runs and exams are kept in --runs-dir, so every number can be replayed.
"""

from __future__ import annotations

import argparse
import statistics
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.evolution import evolve
from mage_es.engine.exam import examine
from mage_es.engine.reports import ExamReport, GroupScore
from mage_es.engine.runs import find_run
from mage_es.engine.runtime import Runtime

SYSTEMS = {
    "full": {},
    "no success memories": {"success_memories": False},
    "no exploration": {"explore_episodes": 0},
}


class Cell(msgspec.Struct):
    """One system on one seed: the exams before, after, and after with the graph of other tasks (full system only)."""

    system: str
    seed: int
    before: ExamReport
    after: ExamReport
    shuffled: ExamReport | None


def main() -> None:
    """Run every cell and print the tables."""
    options = arguments()
    systems = list(SYSTEMS)[: options.systems]
    jobs = [(options, system, seed) for system in systems for seed in options.seeds]
    with ProcessPoolExecutor(options.processes) as pool:
        cells = {(cell.system, cell.seed): cell for cell in pool.map(run_cell, jobs)}
    print_seeds(cells, options.seeds)
    print_systems(cells, systems, options.seeds)


def arguments() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[42, 43, 44, 45, 46])
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--pool", type=int, default=30)
    parser.add_argument("--anchors", type=int, default=15)
    parser.add_argument("--held-out", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--systems", type=int, default=len(SYSTEMS), help="how many of the systems, the full one first")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/workshop-gains"))
    return parser.parse_args()


def run_cell(job: tuple[argparse.Namespace, str, int]) -> Cell:
    """Evolve one system on one seed and set its exams."""
    options, system, seed = job
    config = Config(
        benchmark="workshop",
        seed=seed,
        iterations=options.iterations,
        pool=options.pool,
        anchors=options.anchors,
        held_out=options.held_out,
        **SYSTEMS[system],
    )
    name = f"workshop-s{seed}-{system.replace(' ', '-')}"
    evolve(config, runs_dir=options.runs_dir, data_dir=None, runtime=Runtime(workers=8), run_id=name)
    run = find_run(options.runs_dir, name)

    def exam(at: str, control: str = "none") -> ExamReport:
        return examine(run, at=at, questions=None, control=control, data_dir=None, runtime=Runtime(workers=8))

    shuffled = exam("latest", "shuffled") if system == "full" else None
    return Cell(system, seed, exam("start"), exam("latest"), shuffled)


def print_seeds(cells: dict[tuple[str, int], Cell], seeds: list[int]) -> None:
    """Print the full system seed by seed: goals reached before, after and under the control, and mean scores."""
    print("\n| seed | before | after | shuffled | after, wording seen | after, wording unseen | score before | after |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for seed in seeds:
        cell = cells["full", seed]
        assert cell.shuffled is not None
        row = (
            rate(cell.before),
            rate(cell.after),
            rate(cell.shuffled),
            share(cell.after.familiar),
            share(cell.after.unfamiliar),
            100 * cell.before.episodes[0].mean_score,
            100 * cell.after.episodes[0].mean_score,
        )
        rows.append(row)
        print(f"| {seed} | " + " | ".join(f"{value:.1f}" for value in row) + " |")
    means = [statistics.mean(column) for column in zip(*rows, strict=True)]
    print("| mean | " + " | ".join(f"{value:.1f}" for value in means) + " |")


def print_systems(cells: dict[tuple[str, int], Cell], systems: list[str], seeds: list[int]) -> None:
    """Print each system's exam after the run, and its paired difference to the full system with a 95 % interval."""
    print("\n| system | after, mean (sd) | n | full minus this, mean | 95 % interval | replies without an action |")
    print("|---|---|---|---|---|---|")
    full = [rate(cells["full", seed].after) for seed in seeds]
    for system in systems:
        reports = [cells[system, seed].after for seed in seeds]
        own = [rate(report) for report in reports]
        deviation = statistics.stdev(own) if len(own) > 1 else 0.0
        silent = sum(report.episodes[0].unparsed for report in reports)
        steps = sum(report.episodes[0].steps for report in reports)
        differences = [a - b for a, b in zip(full, own, strict=True)]
        against = f"{statistics.mean(differences):+.1f} | {interval(differences)}" if system != "full" else " | "
        mean = f"{statistics.mean(own):.1f} ({deviation:.1f})"
        print(f"| {system} | {mean} | {len(own)} | {against} | {silent} of {steps} |")


def rate(report: ExamReport) -> float:
    """Return the share of an exam's goals that were reached, in percent."""
    return 100 * report.correct / report.total


def share(score: GroupScore | None) -> float:
    """Return a group's share in percent."""
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
