"""What a run on word problems gains, and what each part of the system has to do with it.

    python -m tests.bench.gains                                         five seeds, all systems
    python -m tests.bench.gains --systems full --seeds 42 --iterations 3 --pool 60     a quick look

For each seed: the full system, and the same with one part switched off. Each is examined on the same held-out
questions before iteration 0 and after the last; the full system also with bundles shuffled across task types. How
often the full system took each search arm, route and action is printed too. Runs and exams are kept in --runs-dir,
so every number can be replayed.
"""

import argparse
import statistics
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ActionTaken, QuestionPlanned
from tests.bench.seeds import Exams, evolved, examined, paired, parser, rate, spread
from tests.bench.tables import print_table

SYSTEMS: dict[str, dict[str, Any]] = {
    "full": {},
    "no success memories": {"success_memories": False},
    "no failure memories": {"failure_memories": False},
    "no principles": {"principles": False},
    "no guard": {"guard": "off"},
}


class Cell(NamedTuple):
    """One system on one seed: its exams, and how often each choice was made."""

    system: str
    seed: int
    exams: Exams
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
    own = parser(__doc__, iterations=10, pool=200, held_out=200, runs_dir="runs/gains")
    own.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    return own.parse_args()


def run_cell(job: tuple[argparse.Namespace, str, int]) -> Cell:
    """Evolve one system on one seed and set its exams."""
    options, system, seed = job
    run = evolved(options, "wordmath", seed, system=system, **SYSTEMS[system])
    exams = examined(run, has_control=system == "full")
    return Cell(system, seed, exams, choices_of(LogReader(run.log_path)))


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
    rows = []
    for seed in seeds:
        before, after, shuffled = cells["full", seed].exams
        seen, unseen = (
            rate(now) - rate(then)
            for now, then in ((after.familiar, before.familiar), (after.unfamiliar, before.unfamiliar))
        )
        rows.append(
            (rate(before), rate(after), rate(after) - rate(before), seen, unseen, rate(shuffled) - rate(before))
        )
    means = [statistics.mean(column) for column in zip(*rows, strict=True)]
    print_table(
        "The full system",
        ("seed", "before", "after", "gain", "gain, phrasings seen", "gain, phrasings unseen", "gain, shuffled"),
        [
            (str(name), *(f"{value:+.1f}" if i > 1 else f"{value:.1f}" for i, value in enumerate(row)))
            for name, row in zip([*seeds, "mean"], [*rows, means], strict=True)
        ],
    )


def print_systems(cells: dict[tuple[str, int], Cell], options: argparse.Namespace) -> None:
    """Print each system's exam after the run, and its paired difference to the full system with a 95 % interval."""
    after = {system: [rate(cells[system, seed].exams.after) for seed in options.seeds] for system in options.systems}
    print_table(
        "Each system",
        ("system", "after, mean (sd)", "n", "full minus this, mean", "95 % interval"),
        [
            (system, spread(own), str(len(own)), *(paired(after["full"], own) if system != "full" else ("", "")))
            for system, own in after.items()
        ],
    )


def print_choices(found: list[dict[str, int]]) -> None:
    """Print for each arm, route and action how often the full system took it: the fewest times in a run, and in all."""
    counts = {name: [choices.get(name, 0) for choices in found] for name in {name for one in found for name in one}}
    print_table(
        "How often the full system made each choice",
        ("choice", "fewest in a run", "all runs"),
        [(name, str(min(each)), str(sum(each))) for name, each in sorted(counts.items())],
    )


if __name__ == "__main__":
    main()
