"""How many pulls change nothing: arms that give what another arm gives, counted in the logs of runs.

    python -m tests.bench.arms --data-dir data            a small run of each built-in benchmark, then the table
    python -m tests.bench.arms runs/one runs/two          the table of runs that there are

Every plan of EVALUATE is made again on the state that it was made on. A pull of the search bandit changes nothing if an
arm before it in the table would have given the same memories and added the same; one of the routing bandit, if it is a
chain of one step, principles that are in the prompt without it, or a tool where none is run. In an episode, which
retrieves at every step, an arm is another one if it could take other memories at some step.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, takewhile
from pathlib import Path
from typing import NamedTuple

from mage_es.engine.benchmarks.registry import own_defaults
from mage_es.engine.config import Config
from mage_es.engine.rules.cascade import cascade
from mage_es.engine.rules.choice import query_of
from mage_es.engine.rules.retrieval import SEARCH_ARMS, quotas, retrieve
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import World, reopen_world
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import QuestionPlanned
from mage_es.projections.fold import State, fold
from tests.bench.tables import print_machine, print_table

QUESTIONS = {"iterations": 6, "pool": 40, "held_out": 20, "anchors": 20}
EPISODES = {"iterations": 3, "pool": 6, "held_out": 2, "anchors": 2, "explore_episodes": 2, "episode_steps": 15}
BENCHMARKS = {
    **dict.fromkeys(("wordmath", "gsm8k", "realmath", "hotpotqa", "webqa"), QUESTIONS),
    **dict.fromkeys(("stbench", "finqa", "medqa"), QUESTIONS),
    "workshop": EPISODES | {"episode_steps": 40},
    "webshop-100": EPISODES,
    "crafter": EPISODES | {"episode_steps": 40},
}


class Pulls(NamedTuple):
    """How often each arm was pulled, and how often that changed nothing."""

    pulled: Counter[str]
    idle: Counter[str]

    def share(self) -> str:
        """Return the share of pulls that changed nothing, and which arms they were of."""
        idle, pulled = sum(self.idle.values()), sum(self.pulled.values())
        arms = ", ".join(f"{arm} {count} of {self.pulled[arm]}" for arm, count in self.idle.most_common() if count)
        return f"{idle / max(1, pulled):.1%} of {pulled}" + (f" ({arms})" if arms else "")


def pulls_of(run: Run, data_dir: Path | None) -> dict[str, Pulls]:
    """Return the pulls of both bandits in the log of a run."""
    reader = LogReader(run.log_path)
    world, state = reopen_world(reader, data_dir=data_dir), State()
    found = {bandit: Pulls(Counter(), Counter()) for bandit in ("search", "routing")}
    plans = (pair for pair in reader.numbered(QuestionPlanned) if pair[1].purpose in ("fresh", "revisit"))
    for _, phase in groupby(plans, key=lambda pair: pair[1].iteration):
        numbered = list(phase)
        state = fold(reader, until=numbered[0][0] - 1, state=state)
        questions = [world.questions[plan.question_id] for _, plan in numbered]
        asked = world.asked(
            state, questions, [plan.task_type for _, plan in numbered], [plan.purpose for _, plan in numbered]
        )
        for (_, plan), each in zip(numbered, asked, strict=True):
            idle = {"search": is_idle_search(world, state, plan, each), "routing": is_idle_route(world, state, plan)}
            for bandit, arm in (("search", plan.search_arm), ("routing", plan.routing_arm)):
                found[bandit].pulled[arm] += 1
                found[bandit].idle[arm] += idle[bandit]
    return found


def is_idle_search(world: World, state: State, plan: QuestionPlanned, asked) -> bool:
    """Return whether an arm before the pulled one would have given the same."""
    pulled = given(world, state, plan, asked, plan.search_arm)
    return any(
        given(world, state, plan, asked, arm) == pulled
        for arm in takewhile(lambda arm: arm != plan.search_arm, SEARCH_ARMS)
        if SEARCH_ARMS[arm].needs == "nothing"
    )


def given(world: World, state: State, plan: QuestionPlanned, asked, arm: str) -> tuple[object, ...]:
    """Return all that an arm gives a question."""
    setting, recipe = world.setting, state.recipes.retrieval(plan.task_type) if arm == "recipe" else None
    vector = asked.recipe_vector if recipe and asked.recipe_vector is not None else asked.vector
    query = query_of(setting, state, asked.question, plan.task_type, vector)
    bundle: object = retrieve(arm, query, state.memory, setting.terms, recipe=recipe)
    if asked.opening is not None and arm != "recipe":
        bundle = within_reach(state, plan.task_type, arm, quotas(arm, query, setting.terms))
        patterns = bool(state.patterns.of(plan.task_type)) or bool(state.graph.node_counts().get("environment"))
        bundle = (bundle, patterns and arm == "none")  # the control shows nothing of the environment
    added = cascade(setting, state, plan.skill) if arm == "cascade" else None
    approach = state.slots.strategy(added.guiding_skill if added and added.guiding_skill else plan.skill)
    return (bundle, added[1:] if added else ((), (), ()), approach)


def within_reach(state: State, task_type: str, arm: str, most: tuple[int, int]) -> tuple[object, ...]:
    """Return what tells apart the bundles that an arm can give in an episode."""
    sizes = [len(state.memory.slice(index, task_type).ids) for index in ("success", "failure")]
    taken = tuple(min(size, quota) for size, quota in zip(sizes, most, strict=True))
    is_choosing = any(0 < quota < size for size, quota in zip(sizes, most, strict=True))
    return (taken, SEARCH_ARMS[arm].find if is_choosing else None)


def is_idle_route(world: World, state: State, plan: QuestionPlanned) -> bool:
    """Return whether the route is another one in name only."""
    if plan.routing_arm == "chain":
        return len(plan.chain or plan.planning) < 2
    if plan.routing_arm == "cot_principles":
        added = cascade(world.setting, state, plan.skill).principles if plan.search_arm == "cascade" else ()
        return not set(plan.principles) - set(added)
    return plan.routing_arm == "tool" and is_sequential(world.benchmark)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path, help="folders of runs [default: run every benchmark]")
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/arms"))
    options = parser.parse_args()
    folders = options.runs or list(evolved(options.runs_dir, options.data_dir))
    rows = ((folder.name, pulls_of(find_run(folder.parent, folder.name), options.data_dir)) for folder in folders)
    table = ((name, pulls["search"].share(), pulls["routing"].share()) for name, pulls in rows)
    print_table("Pulls that change nothing", ("run", "search", "routing"), table)
    print_machine("python -m tests.bench.arms", ("numpy",))


def evolved(runs_dir: Path, data_dir: Path) -> Iterator[Path]:
    """Evolve each benchmark that has no run yet, and yield the folders of the runs."""
    for name, sizes in BENCHMARKS.items():
        if not (runs_dir / name).exists():
            config = Config(benchmark=name, **{**own_defaults(name), **sizes})
            evolve(config, runs_dir=runs_dir, data_dir=data_dir, runtime=Runtime(workers=4), run_id=name)
        yield runs_dir / name


if __name__ == "__main__":
    main()
