"""EvoKG, the typed directed multigraph of the four subgraphs, on rustworkx.

Rules
    - A node is known by its own name (`skill/x`, `task_type/y`, `memory/<id>`): rustworkx reuses an index after
      a removal, so no index leaves this file.
    - Nothing is ever removed. The digest is that of a set of facts (created nodes, edges, an edge that was
      added twice counting twice), so it does not depend on the order in which they came.
    - An edge may name a node before, or without, the event that creates it; such a node stands for what a
      memory came from, such as `question/q17`, and is counted under `provenance`.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import rustworkx as rx

from mage_es.events.batches import Columns
from mage_es.events.digests import digest, digest_of_set
from mage_es.events.vocabulary import (
    EdgeAdded,
    Event,
    MemoryAppended,
    MemorySuperseded,
    SkillCreated,
    TaskTypeCreated,
)
from mage_es.projections.protocol import Reads

GENERAL = "general"
"""The skill that every task type falls back to."""

ORDERING_KINDS = frozenset({"prerequisite_of", "composes_into"})
"""The capability edges; together they stay acyclic."""

SUBGRAPHS = {
    "skill": "capability",
    "task_type": "task",
    "memory": "experience",
    "tool": "experience",
    "recipe": "experience",
    "entity": "environment",
    "observation": "environment",
    "context": "environment",
}
"""The subgraph of a node by the first part of its name."""

_REMEMBERED = ("memory_id", "outcome", "task_type", "skill", "derived_from")
_remembered: attrgetter[tuple[str, ...]] = attrgetter(*_REMEMBERED)

_Digraph: TypeAlias = "rx.PyDiGraph[str, tuple[str, float]]"


class _Ordering(NamedTuple):
    """The skills and the edges that order them: a small copy, made anew after either changed."""

    graph: _Digraph
    places: dict[str, int]


class Graph:
    """The graph, and what the engine asks of it. Skills and task types go in and out by their plain names."""

    name: ClassVar[str] = "graph"
    reads: ClassVar[Reads] = {
        SkillCreated: ("skill", "parent"),
        TaskTypeCreated: ("task_type", "description"),
        EdgeAdded: ("kind", "source", "target", "weight"),
        MemoryAppended: _REMEMBERED,
        MemorySuperseded: ("memory_id", "by"),
    }
    columnar: ClassVar[frozenset[type[Event]]] = frozenset({MemoryAppended})
    order: ClassVar[Literal["global", "by_type"]] = "by_type"
    slot: ClassVar[Literal["mutable", "protected"]] = "protected"

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._graph: _Digraph = rx.PyDiGraph(multigraph=True)
        self._edges: dict[tuple[str, float], tuple[str, float]] = {}
        self._index: dict[str, int] = {}
        self._details: dict[str, str] = {}
        self._kinds: Counter[str] = Counter()
        self._skills: list[str] = []
        self._task_types: list[str] = []
        self._resolvers: dict[str, tuple[float, str]] = {}
        self._ordering: _Ordering | None = None
        self._hashes: list[bytes] = []
        self._hashed = (0, 0)

    def apply(self, event: Event) -> None:
        """Add the nodes and edges that the event stands for."""
        match event:
            case MemoryAppended():
                self._remember(*_remembered(event))
            case EdgeAdded():
                self._connect(event.kind, event.source, event.target, event.weight)
            case SkillCreated():
                self._create(f"skill/{event.skill}", event.parent)
            case TaskTypeCreated():
                self._create(f"task_type/{event.task_type}", event.description)
            case MemorySuperseded():
                self._connect("supersedes", f"memory/{event.by}", f"memory/{event.memory_id}")
            case _:
                raise TypeError(f"the graph does not read {type(event).__name__}; it reads {list(self.reads)}")

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        """Add many memories with their edges."""
        for memory in zip(*(columns[name] for name in _REMEMBERED), strict=True):
            self._remember(*memory)

    def skills(self) -> list[str]:
        """Return every skill in lexicographic order."""
        return list(self._skills)

    def task_types(self) -> list[str]:
        """Return every task type in lexicographic order."""
        return list(self._task_types)

    def prerequisites(self, skill: str) -> list[str]:
        """Return the direct prerequisites of a skill in lexicographic order; none for an unknown skill."""
        graph, places = self._ordered()
        place = places.get(f"skill/{skill}")
        if place is None:
            return []
        edges = graph.in_edges(place)
        return sorted({_plain(graph[source]) for source, _, (kind, _) in edges if kind == "prerequisite_of"})

    def skills_in_order(self) -> list[str]:
        """Return every skill after all that it needs or is composed of, ties in lexicographic order."""
        return [_plain(name) for name in rx.lexicographical_topological_sort(self._ordered().graph, key=str)]

    def would_close_cycle(self, source: str, target: str) -> bool:
        """Return whether an ordering edge between two node names would close a cycle with those there are."""
        graph, places = self._ordered()
        if source == target:
            return True
        if source not in places or target not in places:
            return False
        return bool(rx.has_path(graph, places[target], places[source]))

    def skill_for_task(self, task_type: str) -> str:
        """Return the skill with the largest `resolves` weight, ties by name; `general` where there is none."""
        resolver = self._resolvers.get(task_type)
        return resolver[1] if resolver else GENERAL

    def node_counts(self) -> dict[str, int]:
        """Return how many nodes each subgraph has; `provenance` are those outside the four."""
        counts: Counter[str] = Counter(SUBGRAPHS.get(name.partition("/")[0], "provenance") for name in self._index)
        return dict(sorted(counts.items()))

    def edge_counts(self) -> dict[str, int]:
        """Return how many edges there are of each kind."""
        return dict(sorted(self._kinds.items()))

    def digest(self) -> str:
        """Return the digest of the created nodes and the edges."""
        self._hashes.extend(bytes.fromhex(digest(fact)) for fact in self._unhashed())
        self._hashed = (len(self._details), self._graph.num_edges())
        self._hashes.sort()  # nearly sorted from the last time, which the sort makes use of
        return digest_of_set(self._hashes)

    def dump(self) -> Any:
        """Return the nodes in order of appearance with their details, and the edges by names."""
        names = self._graph.nodes()
        nodes = [(name, self._details.get(name)) for name in names]
        edges = [(kind, names[a], names[b], weight) for a, b, (kind, weight) in self._graph.weighted_edge_list()]
        return [nodes, edges]

    def load(self, dumped: Any) -> None:
        """Rebuild the graph from `dump`."""
        self._clear()
        nodes, edges = dumped
        for name, detail in nodes:
            if detail is None:
                self._node(name)
            else:
                self._create(name, detail)
        for kind, source, target, weight in edges:
            self._connect(kind, source, target, weight)

    def _remember(self, memory_id: str, outcome: str, task_type: str, skill: str, derived_from: str) -> None:
        node = f"memory/{memory_id}"
        if node in self._details:
            return  # equal ids are equal contents: the memory and its edges are there
        self._create(node, outcome)
        if task_type:
            self._connect("about", node, _named("task_type", task_type))
        if skill:
            self._connect("exercises", node, _named("skill", skill))
        if derived_from:
            self._connect("derived_from", node, derived_from)

    def _create(self, name: str, detail: str) -> None:
        self._node(name)
        if name in self._details:
            return
        self._details[name] = detail
        kind = name.partition("/")[0]
        if kind == "skill":
            insort(self._skills, _plain(name))
            self._ordering = None
        elif kind == "task_type":
            insort(self._task_types, _plain(name))

    def _connect(self, kind: str, source: str, target: str, weight: float = 1.0) -> None:
        index = self._index
        a = index[source] if source in index else self._node(source)
        b = index[target] if target in index else self._node(target)
        edge = (kind, weight)
        self._graph.add_edge(a, b, self._edges.setdefault(edge, edge))  # equal ones are kept once
        self._kinds[kind] += 1
        if kind in ORDERING_KINDS:
            self._ordering = None
        elif kind == "resolves":
            task_type, candidate = _plain(target), (-weight, _plain(source))
            self._resolvers[task_type] = min(self._resolvers.get(task_type, candidate), candidate)

    def _unhashed(self) -> Iterator[tuple[object, ...]]:
        """Yield the facts since the last digest: nothing is ever removed, so places in the graph are in order."""
        nodes, edges = self._hashed
        yield from islice(self._details.items(), nodes, None)
        for place in range(edges, self._graph.num_edges()):
            source, target = self._graph.get_edge_endpoints_by_index(place)
            kind, weight = self._graph.get_edge_data_by_index(place)
            yield kind, self._graph[source], self._graph[target], weight

    def _ordered(self) -> _Ordering:
        if self._ordering is None:
            names = [f"skill/{skill}" for skill in self._skills]
            graph: _Digraph = rx.PyDiGraph(multigraph=True)
            places = dict(zip(names, graph.add_nodes_from(names), strict=True))
            for name in names:
                for _, target, edge in self._graph.out_edges(self._index[name]):
                    if edge[0] in ORDERING_KINDS and self._graph[target] in places:
                        graph.add_edge(places[name], places[self._graph[target]], edge)
            self._ordering = _Ordering(graph, places)
        return self._ordering

    def _node(self, name: str) -> int:
        index = self._index.get(name)
        if index is None:
            index = self._index[name] = self._graph.add_node(name)
        return index


@lru_cache(maxsize=4096)
def _named(kind: str, plain: str) -> str:
    return f"{kind}/{plain}"  # one string, however many memories are about it


def _plain(name: str) -> str:
    return name.partition("/")[2]
