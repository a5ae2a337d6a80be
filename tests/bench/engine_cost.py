"""What the engine itself costs for each question: retrieve, prompt, log, score, fold; the model is instant.

    python tests/bench/engine_cost.py                a store of 10,000 memories, iterations of 200 questions
    python tests/bench/engine_cost.py --one-call     every question by the fixed arms, so none takes several calls

Prints CPU milliseconds (user and system, all threads of the process) for each question and phase. The store is
filled beforehand with random memories of the benchmark's own task types; guard and guidance are off, so that
what is left is EVALUATE and UPDATE.
"""

import argparse
import asyncio
import os
import resource
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from mage_es.engine.briefs import OntologyReply
from mage_es.engine.commands import CloseIteration, InduceOntology, OpenRun, PlanIteration
from mage_es.engine.config import Config
from mage_es.engine.loop import evaluate, update
from mage_es.engine.models.registry import Models
from mage_es.engine.run.directory import clock, create_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import open_world
from mage_es.engine.seams.embedder import to_bytes
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.session.session import Session
from mage_es.events.log import Log
from mage_es.events.vocabulary import Draft, MemoryAppended, Origin
from mage_es.projections.fold import State


class Instant:
    """Replies at once with an answer that has one line of reasoning."""

    name = "bench/instant"

    async def complete(self, request: Request) -> Completion:
        """Return always the same."""
        return Completion(text="6 * 7 = 42\n#### 42", input_tokens=0, output_tokens=0)


def main() -> None:
    """Fill a store, then measure iterations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--pool", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--one-call", action="store_true")
    options = parser.parse_args()
    config = Config(
        benchmark="wordmath",
        iterations=options.iterations,
        pool=options.pool,
        guard="off",
        bandits=not options.one_call,
    )
    with tempfile.TemporaryDirectory() as folder:
        measure(config, options.memories, Path(folder))


def measure(config: Config, memories: int, folder: Path) -> None:
    """Print the cost of each phase for each question, median of the iterations."""
    run = create_run(folder, benchmark="wordmath", seed=config.seed)
    with Log.create(run.log_path, run=run.id, clock=clock) as log:
        session = Session(
            run=run,
            world=open_world(config, data_dir=None),
            log=log,
            state=State(),
            models=Models(Instant(), None),
            runtime=Runtime(workers=64),
        )
        session.do(OpenRun(session.world.started(run.id), session.world.splits.events))
        session.do(InduceOntology(session.world.setting.task_types, OntologyReply(skills=())))
        fill(session, memories)
        costs = [asyncio.run(iteration(session, k)) for k in range(config.iterations)]
    for name in costs[0]:
        values = sorted(cost[name] for cost in costs)
        print(f"{name:28s} {values[len(values) // 2]:7.3f} ms CPU per question")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(session.state.memory)} memories stored at the end; peak memory {peak:.0f} MiB")


def fill(session: Session, count: int) -> None:
    """Append random memories, evenly over task types and both indexes, through the log."""
    rng = np.random.default_rng(0)
    types = session.world.setting.task_types
    for start in range(0, count, 1000):
        drafts = []
        for i in range(start, min(count, start + 1000)):
            vector = rng.standard_normal(session.world.embedder.dimension).astype(np.float32)
            event = MemoryAppended(
                memory_id=f"{i:032x}",
                outcome="success_memory" if i % 2 else "failure_memory",
                kind="" if i % 2 else "specific",
                task_type=types[i // 2 % len(types)],
                skill="general",
                question_id=f"filled-{i}",
                question="Lea packs 6 boxes with 7 jars each. How many jars does she pack in all?",
                recognise="",
                reasoning="6 * 7 = 42",
                answer="42",
                wrong_answer="13",
                steps=(),
                origin=Origin(),
                iteration=0,
                phase="evolve",
                ordinal=i,
                embedding=to_bytes(vector / np.linalg.norm(vector)),
            )
            drafts.append(Draft(event=event, iteration=-1, phase="open", ordinal=i))
        session.commit(drafts)


async def iteration(session: Session, k: int) -> dict[str, float]:
    """Return CPU milliseconds for each question: planning and answering, learning, both."""
    session.do(PlanIteration(k))
    began = time.process_time()
    await evaluate(session, k)
    answered = time.process_time()
    update(session, k)
    learned = time.process_time()
    session.do(CloseIteration(k, ()))
    per_question = 1000 / session.world.setting.config.pool
    return {
        "evaluate": (answered - began) * per_question,
        "update": (learned - answered) * per_question,
        "both": (learned - began) * per_question,
    }


if __name__ == "__main__":
    main()
