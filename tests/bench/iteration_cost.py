"""What whole iterations cost with a model that answers at once, and whether they get dearer as a run gets longer.

    python tests/bench/iteration_cost.py                     20 iterations of 200 questions: about a minute
    python tests/bench/iteration_cost.py --iterations 55     compares the cost at iteration 5 with that at 50

The model knows the answers of the benchmark's own questions and gives the right one for a fixed share of them, so
every kind of memory is written; the guidance tier is the embedded one. Prints CPU seconds (user and system, all
threads) and wall seconds of each iteration, the median of those around iterations 5 and 50, and what was learned.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from mage_es.engine.config import Config
from mage_es.engine.loop import iterate, open_run
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import clock, create_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import open_world
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.session.session import Session
from mage_es.events.digests import sha256_text
from mage_es.events.log import Log
from mage_es.projections.fold import State


class Cost(NamedTuple):
    """Seconds of one iteration."""

    cpu: float
    wall: float


class Instant:
    """Replies at once: for 70 % of the questions with the reference solution, else with a wrong number."""

    name = "bench/instant"

    def __init__(self, solutions: Mapping[str, str]) -> None:
        self._solutions = solutions

    async def complete(self, request: Request) -> Completion:
        """Return the reply to the question that stands last in the prompt."""
        asked = request.prompt.rpartition("## Question\n\n")[2].partition("\n\n")[0]
        solution = self._solutions.get(asked, "")
        is_known = solution and int(sha256_text(asked)[:2], 16) < 179
        return Completion(text=solution if is_known else "1 + 1 = 2\n#### 2", input_tokens=0, output_tokens=0)


def main() -> None:
    """Measure a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--pool", type=int, default=200)
    options = parser.parse_args()
    config = Config(benchmark="wordmath", iterations=options.iterations, pool=options.pool)
    with tempfile.TemporaryDirectory() as folder:
        costs = measure(config, Path(folder))
    for k, cost in enumerate(costs):
        print(f"iteration {k:3d}   {cost.cpu:6.2f} s CPU   {cost.wall:6.2f} s")
    cpu, wall = sum(cost.cpu for cost in costs), sum(cost.wall for cost in costs)
    print(f"all of {len(costs)}   {cpu:6.1f} s CPU   {wall:6.1f} s")
    if len(costs) > 53:
        early, late = around(costs, 5), around(costs, 50)
        print(f"around iteration 5: {early:.2f} s CPU; around 50: {late:.2f} s CPU; {late / early:.2f} times")


def around(costs: list[Cost], k: int) -> float:
    """Return the median CPU seconds of the eight iterations around one: each of the four actions twice."""
    return statistics.median(cost.cpu for cost in costs[k - 4 : k + 4])


def measure(config: Config, folder: Path) -> list[Cost]:
    """Return the cost of each iteration of a run."""
    world = open_world(config, data_dir=None)
    solutions = {
        question.question: f"{question.solution}\n#### {question.gold}" for question in world.questions.values()
    }
    run = create_run(folder, benchmark="wordmath", seed=config.seed)
    costs = []
    with Log.create(run.log_path, run=run.id, clock=clock) as log:
        session = Session(
            run=run,
            world=world,
            log=log,
            state=State(),
            models=Models(Instant(solutions), open_model("builtin/reference", "guidance")),
            runtime=Runtime(workers=64),
        )
        asyncio.run(open_run(session))
        for k in range(config.iterations):
            cpu, wall = time.process_time(), time.perf_counter()
            asyncio.run(iterate(session, k))
            costs.append(Cost(time.process_time() - cpu, time.perf_counter() - wall))
        print(", ".join(f"{name} {count}" for name, count in session.state.counts().items()))
    return costs


if __name__ == "__main__":
    main()
