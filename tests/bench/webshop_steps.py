"""How fast WebShop is: loading a catalogue, making its questions, and steps of episodes, in seconds of CPU.

    python tests/bench/webshop_steps.py --data-dir ../shared/data          one core, about ten seconds

The steps are those of the reference solutions, and of replies that search in the instruction's own words, open three
products and buy. Observations and valid actions are made at every step, as an episode of a run makes them.
"""

import argparse
import time
from collections.abc import Iterable
from pathlib import Path

from mage_es.engine.bench.webshop.benchmark import PAPER, RETROAGENT, WebShop
from mage_es.engine.bench.webshop.shopping import Shopping

MOST_EPISODES = 1_500


def main() -> None:
    """Measure both settings and print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    data_dir = parser.parse_args().data_dir
    for preset in (PAPER, RETROAGENT):
        began = time.process_time()
        benchmark = WebShop(42, data_dir, preset=preset)
        loaded = time.process_time()
        questions = benchmark.questions("evolution")
        made = time.process_time()
        print(f"{preset.name}: {len(benchmark.store.by_asin)} products, {len(benchmark.goals)} goals")
        print(f"  catalogue and index loaded in {loaded - began:.2f} s, questions made in {made - loaded:.2f} s")
        shown = questions[:: max(1, len(questions) // MOST_EPISODES)]
        report("reference solutions", (played(benchmark.environment(q), actions_of(q.solution)) for q in shown))
        report("three products", (played(benchmark.environment(q), looking(q.question)) for q in shown))


def report(name: str, counts: Iterable[int]) -> None:
    """Play episodes and print their steps per second of CPU."""
    began = time.process_time()
    steps = sum(counts)
    seconds = time.process_time() - began
    print(f"  {name}: {steps} steps in {seconds:.2f} s, {steps / seconds:,.0f} a second")


def played(environment: Shopping, actions: list[str]) -> int:
    """Return how many steps an episode took; an action `open N` opens the product at that place."""
    environment.reset()
    for step, action in enumerate(actions, start=1):
        offered = environment.valid_actions()
        if action.startswith("open "):
            action = offered[min(int(action[5:]), len(offered) - 1)]
        if environment.step(action).done:
            return step
    return len(actions)


def actions_of(solution: str) -> list[str]:
    """Return the bare actions of a transcript."""
    return [line.partition("]: ")[0] + "]" for line in solution.splitlines()]


def looking(instruction: str) -> list[str]:
    """Return actions that look at three products and buy the last."""
    looks = [action for place in (2, 3, 4) for action in (f"open {place}", "click[features]", "click[< prev]")]
    back = [action for at in range(0, 6, 3) for action in (*looks[at : at + 3], "click[< prev]")]
    return [f"search[{instruction.lower()}]", *back, *looks[6:], "click[buy now]"]


if __name__ == "__main__":
    main()
