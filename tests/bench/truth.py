"""What a run in truthworld gains, and what its memories really are: helpful, useless, harmful or poisoned.

    python -m tests.bench.truth                                     five seeds: about six minutes on two cores
    python -m tests.bench.truth --seeds 42 --iterations 4 --pool 60     a quick look

For each seed one run with the default configuration, examined on the same held-out questions before iteration 0 and
after the last. Every memory is then put before the world's oracle, which knows its true effect; nothing in the run
was told of it. Runs and exams are kept in --runs-dir.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from mage_es.engine.players.worlds.truthworld.benchmark import TruthWorld
from mage_es.engine.rules.routes import ROUTING_ARMS
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ActionTaken, QuestionPlanned
from mage_es.projections.fold import State, fold
from tests.bench.seeds import Exams, evolved, examined, parser, rate, spread
from tests.bench.tables import print_table
from tests.engine.players.worlds.truthworld.oracle import Oracle

KINDS = ("helpful", "useless", "harmful", "poisoned")


class Cell(NamedTuple):
    """One seed: its exams; per kind and outcome the effects of the memories; how often each choice was made; of the
    skills with one task type, on how many the route with the best posterior is the one that the law favours."""

    seed: int
    exams: Exams
    effects: dict[tuple[str, str], list[float]]
    choices: dict[str, dict[str, int]]
    favoured: int
    skills: int


def main() -> None:
    """Run every seed and print the tables."""
    options = parser(__doc__, iterations=20, pool=200, held_out=200, runs_dir="runs/truth").parse_args()
    with ProcessPoolExecutor(options.processes) as pool:
        cells = list(pool.map(run_cell, [(options, seed) for seed in options.seeds]))
    print_gains(cells)
    print_kinds(cells)
    print_choices(cells)


def run_cell(job: tuple[argparse.Namespace, int]) -> Cell:
    """Evolve one seed, set its exams, and ask the oracle about every memory."""
    options, seed = job
    run = evolved(options, "truthworld", seed)
    reader, oracle = LogReader(run.log_path), Oracle(TruthWorld(seed))
    effects: dict[tuple[str, str], list[float]] = {}
    state = fold(reader)
    for row in state.memory.rows():
        effects.setdefault((row.outcome, oracle.kind(row)), []).append(oracle.effect(row))
    routes = favourites(state, oracle)
    return Cell(seed, examined(run, has_control=False), effects, choices_of(reader), sum(routes), len(routes))


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
    rows, gains = [], []
    for cell in cells:
        before, after, _ = cell.exams
        gains.append(rate(after) - rate(before))
        accuracies = (f"{rate(score):.1f}" for score in (after.familiar, after.unfamiliar))
        judged = f"{before.judge_calls} and {after.judge_calls}"
        rows.append(
            (str(cell.seed), f"{rate(before):.1f}", f"{rate(after):.1f}", f"{gains[-1]:+.1f}", *accuracies, judged)
        )
    phrasings = ("after, phrasings seen", "after, phrasings unseen")
    print_table("Accuracy", ("seed", "before", "after", "gain", *phrasings, "judge calls"), rows)
    print(f"\nGain: mean (sd) {spread(gains)}, n {len(gains)}")


def print_kinds(cells: list[Cell]) -> None:
    """Print which share of the memories is of which kind, and their mean true effect in points."""
    outcomes = sorted({outcome for cell in cells for outcome, _ in cell.effects})
    rows = []
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
        rows.append((outcome, str(total), *shown))
    print_table("What the memories are worth", ("memories at the end", "number", *KINDS), rows)


def print_choices(cells: list[Cell]) -> None:
    """Print for each arm, route and action the fewest and the most times that a run used it."""
    favoured, skills = sum(cell.favoured for cell in cells), sum(cell.skills for cell in cells)
    print(f"\nSkills with one task type whose best route by posterior is the favoured one: {favoured} of {skills}")
    rows = []
    for group in ("search arm", "route", "action"):
        for name in sorted({name for cell in cells for name in cell.choices[group]}):
            counts = [cell.choices[group].get(name, 0) for cell in cells]
            rows.append((f"{group} `{name}`", str(min(counts)), str(max(counts))))
    print_table("How often each choice was made", ("choice", "fewest in a run", "most in a run"), rows)


if __name__ == "__main__":
    main()
