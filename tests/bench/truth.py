"""What a run in truthworld gains, and what its memories really are: helpful, useless, harmful or poisoned.

    python tests/bench/truth.py                                     five seeds: about six minutes on two cores
    python tests/bench/truth.py --seeds 42 --iterations 4 --pool 60     a quick look

For each seed one run with the default configuration, examined on the same held-out questions before iteration 0 and
after the last. Every memory is then put before the world's oracle, which knows its true effect; nothing in the run
was told of it. Runs and exams are kept in --runs-dir.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec

from mage_es.engine.benchmarks.truthworld.benchmark import TruthWorld
from mage_es.engine.benchmarks.truthworld.oracle import Oracle
from mage_es.engine.config import Config
from mage_es.engine.evolution import evolve
from mage_es.engine.exam import examine
from mage_es.engine.reports import ExamReport
from mage_es.engine.rules.bandits import ROUTING_ARMS
from mage_es.engine.runs import find_run
from mage_es.engine.runtime import Runtime
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import ActionTaken, QuestionPlanned
from mage_es.projections.fold import State, fold

KINDS = ("helpful", "useless", "harmful", "poisoned")


class Cell(msgspec.Struct):
    """One seed: both exams; per kind and outcome the effects of the memories; how often each choice was made; of the
    skills with one task type, on how many the route with the best posterior is the one that the law favours."""

    seed: int
    before: ExamReport
    after: ExamReport
    effects: dict[tuple[str, str], list[float]]
    choices: dict[str, dict[str, int]]
    favoured: int
    skills: int


def main() -> None:
    """Run every seed and print the tables."""
    options = arguments()
    with ProcessPoolExecutor(options.processes) as pool:
        cells = list(pool.map(run_cell, [(options, seed) for seed in options.seeds]))
    print_gains(cells)
    print_kinds(cells)
    print_choices(cells)


def arguments() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[42, 43, 44, 45, 46])
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--pool", type=int, default=200)
    parser.add_argument("--held-out", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/truth"))
    return parser.parse_args()


def run_cell(job: tuple[argparse.Namespace, int]) -> Cell:
    """Evolve one seed, set its exams, and ask the oracle about every memory."""
    options, seed = job
    config = Config(
        benchmark="truthworld",
        seed=seed,
        iterations=options.iterations,
        pool=options.pool,
        held_out=options.held_out,
    )
    name = f"truthworld-s{seed}"
    evolve(config, runs_dir=options.runs_dir, data_dir=None, runtime=Runtime(workers=8), run_id=name)
    run = find_run(options.runs_dir, name)

    def exam(at: str) -> ExamReport:
        return examine(run, at=at, questions=None, control="none", data_dir=None, runtime=Runtime(workers=8))

    reader, oracle = LogReader(run.log_path), Oracle(TruthWorld(seed))
    effects: dict[tuple[str, str], list[float]] = {}
    state = fold(reader)
    for row in state.memory.rows():
        effects.setdefault((row.outcome, oracle.kind(row)), []).append(oracle.effect(row))
    routes = favourites(state, oracle)
    return Cell(seed, exam("start"), exam("latest"), effects, choices_of(reader), sum(routes), len(routes))


def favourites(state: State, oracle: Oracle) -> list[bool]:
    """Return for each skill with exactly one task type whether the best route by posterior is the favoured one."""

    def mean(skill: str, route: str) -> float:
        posterior = state.bandits.posterior("routing", skill, route)
        return posterior.alpha / (posterior.alpha + posterior.beta)

    resolved = {skill: state.graph.task_types_of(skill) for skill in state.graph.skills()}
    return [
        max(ROUTING_ARMS, key=lambda route: mean(skill, route)) == oracle.best_route(types[0])
        for skill, types in resolved.items()
        if len(types) == 1
    ]


def choices_of(reader: LogReader) -> dict[str, dict[str, int]]:
    """Return how often each search arm, route and action was used."""
    counts: dict[str, Counter[str]] = {"search arm": Counter(), "route": Counter(), "action": Counter()}
    for record in reader.records({QuestionPlanned, ActionTaken}):
        match record.event:
            case QuestionPlanned() as planned:
                counts["search arm"][planned.search_arm] += 1
                counts["route"][planned.routing_arm] += 1
            case ActionTaken() as taken:
                counts["action"][taken.action] += 1
    return {name: dict(found) for name, found in counts.items()}


def print_gains(cells: list[Cell]) -> None:
    """Print each seed's accuracy before and after, in percent, and that of phrasings that evolution never shows."""
    print("\n| seed | before | after | gain | after, phrasings seen | after, phrasings unseen | judge calls |")
    print("|---|---|---|---|---|---|---|")
    gains = []
    for cell in cells:
        before, after = (100 * report.correct / report.total for report in (cell.before, cell.after))
        gains.append(after - before)
        seen, unseen = (
            100 * group.correct / max(1, group.total) if group else float("nan")
            for group in (cell.after.familiar, cell.after.unfamiliar)
        )
        print(
            f"| {cell.seed} | {before:.1f} | {after:.1f} | {after - before:+.1f} | {seen:.1f} | {unseen:.1f} "
            f"| {cell.before.judge_calls} and {cell.after.judge_calls} |"
        )
    deviation = statistics.stdev(gains) if len(gains) > 1 else 0.0
    print(f"\nGain: mean {statistics.mean(gains):+.1f}, standard deviation {deviation:.1f}, n {len(gains)}")


def print_kinds(cells: list[Cell]) -> None:
    """Print which share of the memories is of which kind, and their mean true effect in points."""
    outcomes = sorted({outcome for cell in cells for outcome, _ in cell.effects})
    print("\n| memories at the end | number | " + " | ".join(KINDS) + " |")
    print("|---|---|" + "---|" * len(KINDS))
    for outcome in [*outcomes, "all"]:
        of = {
            kind: [
                effect
                for cell in cells
                for (name, found), effects in cell.effects.items()
                if found == kind and outcome in (name, "all")
                for effect in effects
            ]
            for kind in KINDS
        }
        total = sum(map(len, of.values()))
        shown = [
            f"{100 * len(effects) / total:.1f} % ({100 * statistics.mean(effects):+.1f})" if effects else "none"
            for effects in of.values()
        ]
        print(f"| {outcome} | {total} | " + " | ".join(shown) + " |")


def print_choices(cells: list[Cell]) -> None:
    """Print for each arm, route and action the fewest and the most times that a run used it."""
    favoured, skills = sum(cell.favoured for cell in cells), sum(cell.skills for cell in cells)
    print(f"\nSkills with one task type whose best route by posterior is the favoured one: {favoured} of {skills}")
    print("\n| choice | fewest in a run | most in a run |")
    print("|---|---|---|")
    for group in ("search arm", "route", "action"):
        for name in sorted({name for cell in cells for name in cell.choices[group]}):
            counts = [cell.choices[group].get(name, 0) for cell in cells]
            print(f"| {group} `{name}` | {min(counts)} | {max(counts)} |")


if __name__ == "__main__":
    main()
