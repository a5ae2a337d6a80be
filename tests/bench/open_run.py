"""What it takes to open a run and to ask it for bundles, with the embedder `hash`: CPU milliseconds, one BLAS thread.

    python -m tests.bench.open_run                      1,000, 10,000 and 100,000 memories
    python -m tests.bench.open_run --memories 10000

Every log is filled with random memories, over the benchmark's task types and both indexes, by the events that a run
writes. The floor, in turn with the bundles: one product of all memories with the question, and its best three.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import mage_es
from mage_es.engine.briefs import OntologyReply
from mage_es.engine.commands import CloseIteration, InduceOntology
from mage_es.engine.loop import keep
from mage_es.engine.models.registry import Models
from mage_es.engine.run.directory import Run, create_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import open_world
from mage_es.engine.session.beginning import opening
from mage_es.engine.session.session import Session
from mage_es.projections.fold import State
from tests.bench.engine_cost import Instant, fill, iteration

ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    columns = [
        "memories",
        "open_run",
        "its floors",
        "first bundle",
        "p50",
        "p99",
        "type given, p50",
        "p99",
        "brute force, p50",
        "p99",
    ]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for memories in parser.parse_args().memories:
        with tempfile.TemporaryDirectory() as folder:
            print(f"| {memories:,} | {' | '.join(measured(filled(Path(folder), memories)))} |", flush=True)


def filled(folder: Path, memories: int) -> Run:
    config = mage_es.Config(benchmark="wordmath", iterations=1, pool=40, guard="off")
    run = create_run(folder, benchmark="wordmath", seed=config.seed)
    with run.begin() as log:
        world, models = open_world(config, data_dir=None), Models(Instant(), None)
        session = Session(run=run, world=world, log=log, state=State(), models=models, runtime=Runtime())
        session.do(opening(session))
        session.do(InduceOntology(world.setting.task_types, OntologyReply(skills=())))
        fill(session, memories)
        asyncio.run(iteration(session, 0))
        session.do(CloseIteration(1, digests := session.state.digests()))
        keep(session, digests)
    return run


def measured(run: Run) -> list[str]:
    opened = [timed(lambda: mage_es.open_run(run)) for _ in range(ROUNDS)]
    frozen = mage_es.open_run(run)
    world, kind = frozen.world, frozen.world.setting.task_types[0]
    texts = [world.questions[name].question for name in world.setting.held_out]
    vectors = np.stack([np.frombuffer(row.embedding, dtype="<f4") for row in frozen.state.memory.rows()])
    floors = timed(lambda: frozen.floor(kind))
    first = timed(lambda: frozen.bundle(texts[0]))
    asked, typed, floor = list[float](), list[float](), list[float]()
    for text in texts * ROUNDS:
        asked.append(timed(lambda text=text: frozen.bundle(text)))
        typed.append(timed(lambda text=text: frozen.bundle(text, kind)))
        floor.append(timed(lambda text=text: brute_force(vectors, world.embedder.encode([text])[0])))
    spread = [f"{np.percentile(each, rank):.2f}" for each in (asked, typed, floor) for rank in (50, 99)]
    return [f"{np.median(opened):.0f}", f"{floors:.0f}", f"{first:.0f}", *spread]


def brute_force(vectors: np.ndarray, query: np.ndarray) -> np.ndarray:
    return np.argpartition(-(vectors @ query), 3)[:3]


def timed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


if __name__ == "__main__":
    main()
