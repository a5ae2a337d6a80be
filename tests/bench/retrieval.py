"""Retrieval alone (without embedding the question) over an evenly filled memory, and LanceDB beside it.

    python tests/bench/retrieval.py                  100,000 memories over 12 task types

Prints the median and 99th percentile in milliseconds of the wall clock, one thread. The peer is LanceDB's exact
filtered search over the same vectors, interleaved with ours query by query; the ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does

import numpy as np

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.embedders.protocol import to_bytes
from mage_es.engine.rules.retrieval import Query, Terms, retrieve
from mage_es.events.vocabulary import MemoryAppended
from mage_es.projections.memory import Memory

TERMS = Terms(bundle=3, long_context=500, strategy_floor=0.3, exclude_self=True)


def filled(memories: int, types: int) -> Memory:
    """Return a memory with as many success as failure memories of each task type, random unit vectors."""
    rng = np.random.default_rng(0)
    dimension = HashEmbedder().dimension
    memory = Memory()
    for i in range(memories):
        vector = rng.standard_normal(dimension).astype(np.float32)
        memory.apply(
            MemoryAppended(
                memory_id=f"{i:032x}",
                outcome="success_memory" if i % 2 else "failure_memory",
                kind="" if i % 2 else "specific",
                task_type=f"type{i // 2 % types:02d}",
                skill="general",
                question_id=f"q{i}",
                question="how many?",
                recognise="",
                reasoning="1 + 1 = 2",
                answer="2",
                wrong_answer="",
                steps=(),
                derived_from="",
                iteration=0,
                phase="update",
                ordinal=i,
                embedding=to_bytes(vector / np.linalg.norm(vector)),
            )
        )
    return memory


def main() -> None:
    """Measure every arm that searches, then the peer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--types", type=int, default=12)
    parser.add_argument("--queries", type=int, default=600)
    options = parser.parse_args()
    memory = filled(options.memories, options.types)
    rng = np.random.default_rng(1)
    queries = []
    for i in range(options.queries):
        vector = rng.standard_normal(HashEmbedder().dimension).astype(np.float32)
        queries.append(Query(vector / np.linalg.norm(vector), f"type{i % options.types:02d}", "asked", "how much?", 0))
    for arm in ("balanced", "success_only", "failure_only", "diverse"):
        report(arm, [milliseconds(lambda q=q, a=arm: retrieve(a, q, memory, TERMS)) for q in queries])
    with tempfile.TemporaryDirectory() as folder:
        compare(memory, queries[: options.queries // 10], Path(folder))


def compare(memory: Memory, queries: list[Query], folder: Path) -> None:
    """Measure the balanced arm and LanceDB in turn, query by query."""
    import lancedb

    from mage_es.projections.lance import MemoryTables

    MemoryTables(folder).write(memory)
    tables = [lancedb.connect(str(folder)).open_table(name) for name in ("success_memories", "failure_memories")]

    def peer(query: Query) -> None:
        for table, count in zip(tables, (2, 1), strict=True):
            search = table.search(query.vector).where(f"task_type = '{query.task_type}'", prefilter=True)
            search.distance_type("dot").select(["memory_id", "_distance"]).limit(count).to_arrow()

    ours, theirs = [], []
    for query in queries:
        ours.append(milliseconds(lambda q=query: retrieve("balanced", q, memory, TERMS)))
        theirs.append(milliseconds(lambda q=query: peer(q)))
    report("balanced, interleaved", ours)
    report("LanceDB, exact, filtered", theirs)
    print(f"LanceDB / ours, medians: {statistics.median(theirs) / statistics.median(ours):.0f}x")


def milliseconds(work: object) -> float:
    """Return how long a call took."""
    began = time.perf_counter()
    work()  # type: ignore[operator]
    return 1000 * (time.perf_counter() - began)


def report(name: str, times: list[float]) -> None:
    """Print the median and the 99th percentile."""
    times = sorted(times)
    print(f"{name:28s} p50 {statistics.median(times):7.3f} ms   p99 {times[int(0.99 * len(times))]:7.3f} ms")


if __name__ == "__main__":
    main()
