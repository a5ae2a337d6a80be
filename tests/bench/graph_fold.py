"""How long a graph takes to fold from its log, and what one more iteration costs then.

    python -m tests.bench.graph_fold                 about a minute
    python -m tests.bench.graph_fold --nodes 20000   a quick look

The log is a real one, sealed: nearly all nodes are of the environment (observations, entities, contexts, relations), as
no memory is in the graph. Only the graph is folded, in this process, with the log's pages in the cache of the file
system. Seconds are CPU seconds of the process, reading and decompressing the log included.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.log import Log, LogReader
from mage_es.projections.fold import fold_into
from mage_es.projections.graph import Graph
from tests.bench.tables import Gate, Ratio, print_gates, print_machine, print_table

SKILLS, TASK_TYPES, PER_EPISODE, AN_ITERATION = 30, 40, 20, 500
SECONDS = 1.0


def main() -> None:
    """Write the log, fold it, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        write(path, events(options.nodes))
        reader = LogReader(path)
        graph = folded(reader)
        folds = [cpu(lambda: folded(reader)) for _ in range(options.repetitions)]
        whole = [cpu(folded(reader).digest) for _ in range(options.repetitions)]
        later = [cpu(lambda k=k: one_more(graph, k)) for k in range(options.repetitions)]
    nodes, edges = sum(graph.node_counts().values()), sum(graph.edge_counts().values())
    rows = [
        (name, str(Ratio.of(seconds)))
        for name, seconds in (
            ("fold of the log into a graph", folds),
            ("first digest of it", whole),
            (f"{AN_ITERATION} more nodes, and the digest again", later),
        )
    ]
    print_table(f"{nodes:,} nodes, {edges:,} edges: CPU seconds, median (least to most)", ("what", "seconds"), rows)
    print_gates([Gate(f"a graph of {nodes:,} nodes folds", "at most", SECONDS, Ratio.of(folds), "s")])
    print_machine("python -m tests.bench.graph_fold", ("msgspec", "pyarrow", "rustworkx"))


def cpu(work: Callable[[], object]) -> float:
    """Do it and return the CPU seconds."""
    began = time.process_time()
    work()
    return time.process_time() - began


def folded(reader: LogReader) -> Graph:
    """Return the graph of a log."""
    graph = Graph()
    fold_into((graph,), reader, until=reader.head.seq)
    return graph


def one_more(graph: Graph, number: int) -> str:
    """Add what an iteration may add, and return the digest."""
    for place in range(AN_ITERATION):
        graph.apply(v.EntitySeen(entity_id=f"later {number} {place}", kind="item"))
    return graph.digest()


def events(nodes: int) -> Iterator[v.Event]:
    """Yield events that make at least so many nodes."""
    for number in range(SKILLS):
        yield v.SkillCreated(skill=f"skill {number}", mastery=0.0, prompt_template="", strategy="")
    for number in range(TASK_TYPES):
        yield v.TaskTypeCreated(task_type=f"type {number}", description="")
        yield v.EdgeAdded(
            kind="resolves", source=f"skill/skill {number % SKILLS}", target=f"task_type/type {number}", weight=1.0
        )
    for number in range(1, SKILLS):
        yield v.EdgeAdded(
            kind="prerequisite_of", source=f"skill/skill {number // 2}", target=f"skill/skill {number}", weight=1.0
        )
    for number in range(nodes):
        yield from explored(number)


def explored(number: int) -> Iterator[v.Event]:
    """Yield one node of the environment with its edges."""
    episode = number // PER_EPISODE
    if number % PER_EPISODE == 0:
        yield v.TaskContextOpened(context_id=f"task {episode}", statement="get wood", task_type="type 0")
        yield v.EdgeAdded(
            kind="relation", source=f"entity/{episode}", target=f"entity/{episode // 2}", weight=1.0, label="needs"
        )
    elif number % PER_EPISODE == 1:
        yield v.EntitySeen(entity_id=str(episode), kind="material")
    else:
        observation = sha256_text(str(number))[:32]
        yield v.ObservationRecorded(observation_id=observation, text=f"you see tree {number}")
        yield v.EdgeAdded(
            kind="observed_in", source=f"observation/{observation}", target=f"context/task {episode}", weight=1.0
        )


def write(path: Path, history: Iterator[v.Event]) -> None:
    """Write and seal a log of these events."""
    with Log.create(path, run="bench", clock=lambda: 0) as log:
        drafts: list[v.Draft] = []
        for ordinal, event in enumerate(history):
            drafts.append(v.Draft(event=event, iteration=0, phase="update", ordinal=ordinal))
            if len(drafts) == 2000:
                log.append(drafts)
                drafts = []
        log.append(drafts)


if __name__ == "__main__":
    main()
