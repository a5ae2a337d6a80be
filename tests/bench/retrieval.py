"""Retrieval alone (without embedding the question) over an evenly filled memory, and LanceDB beside it.

    python tests/bench/retrieval.py                  100,000 memories over 12 task types
    python tests/bench/retrieval.py --memories 1000000 --queries 200     (building the index takes long)

Prints the median and 99th percentile in milliseconds of the wall clock, one thread. The peers are LanceDB's exact
filtered search over the same vectors, and the same with an IVF index of vectors; they are interleaved with ours query
by query. recall@3 is the share of our exact bundle that a peer finds: vectors lie around `--centres` centres, as those
of real questions do.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does

import numpy as np

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.rules.retrieval import Query, Terms, retrieve
from mage_es.engine.seams.embedder import to_bytes
from mage_es.events.vocabulary import MemoryAppended, Origin
from mage_es.projections.memory import Memory

TERMS = Terms(bundle=3, long_context=500, strategy_floor=0.3, exclude_self=True)


class Vectors:
    """Unit vectors around some centres."""

    def __init__(self, centres: int) -> None:
        dimension = HashEmbedder().dimension
        self._centres = np.random.default_rng(0).standard_normal((centres, dimension)).astype(np.float32)

    def one(self, rng: np.random.Generator) -> np.ndarray:
        """Return the next one."""
        vector = self._centres[rng.integers(len(self._centres))] + 0.7 * rng.standard_normal(
            self._centres.shape[1], dtype=np.float32
        )
        return vector / np.linalg.norm(vector)


def filled(memories: int, types: int, vectors: Vectors) -> Memory:
    """Return a memory with as many success as failure memories of each task type."""
    rng = np.random.default_rng(0)
    memory = Memory()
    for i in range(memories):
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
                origin=Origin(),
                iteration=0,
                phase="update",
                ordinal=i,
                embedding=to_bytes(vectors.one(rng)),
            )
        )
    return memory


def main() -> None:
    """Measure every arm that searches, then the peers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--types", type=int, default=12)
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--centres", type=int, default=2_000)
    options = parser.parse_args()
    vectors = Vectors(options.centres)
    memory = filled(options.memories, options.types, vectors)
    rng = np.random.default_rng(1)
    queries = [
        Query(vectors.one(rng), f"type{i % options.types:02d}", "asked", "how much?", 0) for i in range(options.queries)
    ]
    retrieve("balanced", queries[0], memory, TERMS)  # the matrices are filled when they are first looked at
    for arm in ("balanced", "success_only", "failure_only", "diverse"):
        report(arm, [milliseconds(lambda q=q, a=arm: retrieve(a, q, memory, TERMS))[0] for q in queries])
    with tempfile.TemporaryDirectory() as folder:
        compare(memory, queries[: options.queries // 10], Path(folder))


def compare(memory: Memory, queries: list[Query], folder: Path) -> None:
    """Measure the balanced arm and LanceDB in turn, query by query: exact, then with an index."""
    import lancedb
    from lancedb.index import HnswSq

    from mage_es.projections.lance import write_tables

    write_tables(folder, memory)
    tables = [lancedb.connect(str(folder)).open_table(name) for name in ("success_memories", "failure_memories")]
    in_turn("LanceDB, exact, filtered", memory, queries, tables)
    began = time.perf_counter()
    for table in tables:
        table.create_index("embedding", config=HnswSq(distance_type="dot"))
    print(f"index built in {time.perf_counter() - began:.1f} s")
    in_turn("LanceDB, IVF_HNSW_SQ", memory, queries, tables)


def in_turn(name: str, memory: Memory, queries: list[Query], tables: list[Any]) -> None:
    """Measure the balanced arm and a search in the tables, query by query, and how far they agree."""

    def peer(query: Query) -> list[str]:
        found = []
        for table, count in zip(tables, (2, 1), strict=True):
            search = table.search(query.vector).where(f"task_type = '{query.task_type}'", prefilter=True)
            found += search.distance_type("dot").select(["memory_id", "_distance"]).limit(count).to_arrow()["memory_id"]
        return [memory_id.as_py() for memory_id in found]

    ours, theirs, recalled = [], [], 0
    for query in queries:
        took, bundle = milliseconds(lambda q=query: retrieve("balanced", q, memory, TERMS))
        ours.append(took)
        took, found = milliseconds(lambda q=query: peer(q))
        theirs.append(took)
        recalled += len({hit.memory_id for hits in bundle for hit in hits} & set(found))
    report("balanced, interleaved", ours)
    report(name, theirs)
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(f"{name} / ours, medians: {ratio:.1f}x; recall@{TERMS.bundle} {recalled / TERMS.bundle / len(queries):.3f}")


def milliseconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long a call took, and what it returned."""
    began = time.perf_counter()
    result = work()
    return 1000 * (time.perf_counter() - began), result


def report(name: str, times: list[float]) -> None:
    """Print the median and the 99th percentile."""
    times = sorted(times)
    print(f"{name:28s} p50 {statistics.median(times):7.3f} ms   p99 {times[int(0.99 * len(times))]:7.3f} ms")


if __name__ == "__main__":
    main()
