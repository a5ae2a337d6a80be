"""What a run on episodes gains, and what of it is due to what the graph says about the very task.

    python -m tests.bench.workshop                          five seeds, three systems: about half an hour on two cores
    python -m tests.bench.workshop --seeds 42 --iterations 3 --pool 20      a quick look

For each seed: the full system, the same without success memories, and without exploration. Each is examined on the
same held-out tasks before iteration 0 and after the last; the full system also with the graph consulted as a task of
another type (control `shuffled`). Runs and exams are kept in --runs-dir, so every number can be replayed.
"""

import argparse
import statistics
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

from tests.bench.seeds import Exams, evolved, examined, paired, parser, rate, spread
from tests.bench.tables import print_table

SYSTEMS: dict[str, dict[str, Any]] = {
    "full": {},
    "no success memories": {"success_memories": False},
    "no exploration": {"explore_episodes": 0},
}


class Cell(NamedTuple):
    """One system on one seed, and its exams."""

    system: str
    seed: int
    exams: Exams


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
    own = parser(__doc__, iterations=10, pool=30, held_out=100, runs_dir="runs/workshop-gains")
    own.add_argument("--anchors", type=int, default=15)
    own.add_argument("--systems", type=int, default=len(SYSTEMS), help="how many of the systems, the full one first")
    return own.parse_args()


def run_cell(job: tuple[argparse.Namespace, str, int]) -> Cell:
    """Evolve one system on one seed and set its exams."""
    options, system, seed = job
    run = evolved(options, "workshop", seed, system=system, anchors=options.anchors, **SYSTEMS[system])
    return Cell(system, seed, examined(run, has_control=system == "full"))


def print_seeds(cells: dict[tuple[str, int], Cell], seeds: list[int]) -> None:
    """Print the full system seed by seed: goals reached before, after and under the control, and mean scores."""
    rows = []
    for seed in seeds:
        before, after, shuffled = cells["full", seed].exams
        goals = [rate(score) for score in (before, after, shuffled, after.familiar, after.unfamiliar)]
        rows.append((*goals, *(100 * exam.episodes[0].mean_score for exam in (before, after))))
    means = [statistics.mean(column) for column in zip(*rows, strict=True)]
    wording = ("after, wording seen", "after, wording unseen")
    print_table(
        "The full system",
        ("seed", "before", "after", "shuffled", *wording, "score before", "score after"),
        [
            (str(name), *(f"{value:.1f}" for value in row))
            for name, row in zip([*seeds, "mean"], [*rows, means], strict=True)
        ],
    )


def print_systems(cells: dict[tuple[str, int], Cell], systems: list[str], seeds: list[int]) -> None:
    """Print each system's exam after the run, and its paired difference to the full system with a 95 % interval."""
    after = {system: [cells[system, seed].exams.after for seed in seeds] for system in systems}
    rates = {system: [rate(report) for report in reports] for system, reports in after.items()}
    rows = []
    for system, own in rates.items():
        played = [report.episodes[0] for report in after[system]]
        silent = f"{sum(each.unparsed for each in played)} of {sum(each.steps for each in played)}"
        against = paired(rates["full"], own) if system != "full" else ("", "")
        rows.append((system, spread(own), str(len(own)), *against, silent))
    header = ("system", "after, mean (sd)", "n", "full minus this, mean", "95 % interval", "replies without an action")
    print_table("Each system", header, rows)


if __name__ == "__main__":
    main()
