"""What it takes to open a run and to ask it for bundles, with the embedder `hash`: CPU milliseconds.

python -m tests.bench.open_run                      10,000 memories
python -m tests.bench.open_run --memories 100000
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable

import mage_es
from mage_es.engine.briefs import OntologyReply
from mage_es.engine.commands import CloseIteration, InduceOntology
from mage_es.engine.loop import keep
from mage_es.engine.models.registry import Models
from mage_es.engine.run.directory import create_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import open_world
from mage_es.engine.session.session import Session
from mage_es.projections.fold import State
from tests.bench.engine_cost import Instant, fill, iteration


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    options = parser.parse_args()
    config = mage_es.Config(benchmark="wordmath", iterations=1, pool=40, guard="off")
    with tempfile.TemporaryDirectory() as folder:
        run = create_run(folder, benchmark="wordmath", seed=config.seed)
        with run.begin() as log:
            world, models = open_world(config, data_dir=None), Models(Instant(), None)
            session = Session(run=run, world=world, log=log, state=State(), models=models, runtime=Runtime())
            session.do(session.opening())
            session.do(InduceOntology(world.setting.task_types, OntologyReply(skills=())))
            fill(session, options.memories)
            asyncio.run(iteration(session, 0))
            session.do(CloseIteration(1, digests := session.state.digests()))
            keep(session, digests)
        opened = [timed(lambda: mage_es.open_run(run)) for _ in range(5)]
        frozen = mage_es.open_run(run)
        questions = [world.questions[name].question for name in world.setting.held_out]
        asked = [timed(lambda text=text: frozen.bundle(text)) for text in questions]
        kind = world.setting.task_types[0]
        typed = [timed(lambda text=text: frozen.bundle(text, kind)) for text in questions]
    print(f"{len(frozen.state.memory)} memories")
    print(f"open_run  median {middle(opened):7.1f} ms, slowest {max(opened):7.1f} ms")
    print(f"bundle    median {middle(asked):7.2f} ms, slowest {max(asked):7.2f} ms, first {asked[0]:7.2f} ms")
    print(f"  type given     {middle(typed):7.2f} ms, slowest {max(typed):7.2f} ms")


def timed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


def middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    main()
