"""EvoKG, the typed directed multigraph of the four subgraphs, on rustworkx.

Rules
    - A node is identified by its own name (`skill/x`, `task_type/y`, `memory/<id>`): rustworkx reuses an index after
      a removal, so no index leaves this file.
    - No node is ever freed: a pruned pattern disappears from every answer and count, and its pruning is one more fact.
      The digest covers an unordered collection of facts (nodes created, edges, prunings; an edge added twice counts
      twice), so it does not depend on the order in which they arrived.
    - An edge may name a node before the event that creates it.
    - Only what is read somewhere is kept here. A memory is a node by its row in projections/memory.py: what it is
      about, which skill it exercises, where it came from and what replaced it are fields there.
    - A task type that goes out of use stays stored, and its retirement is one more fact.
"""

from bisect import insort
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import Any, ClassVar, TypeAlias

import numpy as np
import rustworkx as rx

from mage_es.events import vocabulary as v
from mage_es.events.digests import digest_of_set, encoded
from mage_es.events.segments import Reads
from mage_es.projections.ordering import ORDERING_KINDS, Ordering
from mage_es.projections.protocol import Order, unread

GENERAL = "general"  # the skill that every task type falls back to

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
"""The subgraph of a node, given by the first part of its name."""

_Digraph: TypeAlias = "rx.PyDiGraph[str, tuple[str, float, str]]"


class Graph:
    """The graph, and the queries that the engine makes. Skills and task types are passed in and out by their plain
    names.

    [section 3.1, graph] Every edge has a reader; the paper's edges from a memory are its fields.
    Task types have no dependency edges (appendix, EvoKG): lending memories along them had no effect.
    """

    name: ClassVar[str] = "graph"
    reads: ClassVar[Reads] = {
        v.SkillCreated: ("skill", "parent", "description"),
        v.TaskTypeCreated: ("task_type", "description", "examples"),
        v.TaskTypeRetired: ("task_type", "into"),
        v.EdgeAdded: ("kind", "source", "target", "weight", "label"),
        v.RetrievalRecipeAuthored: ("memory_id",),
        v.PatternAbstracted: ("memory_id",),
        v.PatternPruned: ("memory_id",),
        v.ToolAuthored: ("tool_id", "name"),
        v.ActionRecipeHarvested: ("recipe_id", "achievement"),
        v.EntitySeen: ("entity_id", "kind"),
        v.ObservationRecorded: ("observation_id", "text"),
        v.TaskContextOpened: ("context_id", "statement"),
    }
    order: ClassVar[Order] = "by_type"

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        # A multigraph: two relations with different labels may lead from one entity to another.
        self._graph: _Digraph = rx.PyDiGraph(multigraph=True)
        self._edges: dict[tuple[str, float, str], tuple[str, float, str]] = {}
        self._index: dict[str, int] = {}
        self._details: dict[str, str] = {}
        self._descriptions: dict[str, str] = {}
        self._pruned: dict[str, None] = {}
        self._examples: dict[str, tuple[str, ...]] = {}
        self._retired: dict[str, str] = {}
        self._kinds: Counter[str] = Counter()
        self._skills: list[str] = []
        self._task_types: list[str] = []
        # By task type the heaviest edge, of equal ones the first by name: (-weight, skill).
        self._resolvers: dict[str, tuple[float, str]] = {}
        # Built when first asked for and dropped when a skill or an ordering edge arrives; see `_ordered`.
        self._ordering: Ordering | None = None
        # Facts are only ever added, so a digest hashes those since the last: this counts each kind so far.
        self._hashes: list[bytes] = []
        self._hashed: tuple[int, ...] = (0,) * 5

    def apply(self, event: v.Event) -> None:
        match event:
            case v.EdgeAdded():
                self._connect(event.kind, event.source, event.target, event.weight, event.label)
            case v.SkillCreated():
                name = f"skill/{event.skill}"
                if event.description and name not in self._details:
                    self._descriptions[name] = event.description
                self._create(name, event.parent)
            case v.TaskTypeCreated():
                self._create(f"task_type/{event.task_type}", event.description)
                if event.examples:
                    self._examples.setdefault(event.task_type, event.examples)
            case v.TaskTypeRetired():
                self._retired[event.task_type] = event.into
            case v.PatternPruned():
                # The node keeps its edges, and `_pruned_nodes` says which no longer count: nothing is ever removed.
                self._pruned[f"memory/{event.memory_id}"] = None
            case v.EntitySeen():
                self._create(f"entity/{event.entity_id}", event.kind)
            case v.ObservationRecorded():
                self._create(f"observation/{event.observation_id}", event.text)
            case v.TaskContextOpened():
                self._create(f"context/{event.context_id}", event.statement)
            case _:
                self._apply_authored(event)

    def _apply_authored(self, event: v.Event) -> None:
        match event:
            case v.RetrievalRecipeAuthored():
                self._create(f"memory/{event.memory_id}", "retrieval_recipe")
            case v.PatternAbstracted():
                self._create(f"memory/{event.memory_id}", "abstracted_pattern")
            case v.ToolAuthored():
                self._create(f"tool/{event.tool_id}", event.name)
            case v.ActionRecipeHarvested():
                self._create(f"recipe/{event.recipe_id}", event.achievement)
            case _:
                raise unread(self, event)

    def skills(self) -> list[str]:
        return list(self._skills)

    def task_types(self) -> list[str]:
        return list(self._task_types)

    def induced_types(self) -> dict[str, v.TaskTypeCreated]:
        """Return the induced task types in use by name, with their examples; none if the benchmark has its own."""
        return {
            name: v.TaskTypeCreated(
                task_type=name, description=self.description(f"task_type/{name}"), examples=examples
            )
            for name, examples in sorted(self._examples.items())
            if name not in self._retired
        }

    def merged_types(self, task_type: str) -> list[str]:
        """Return by name the task types that were merged into each one."""
        return sorted(name for name, other in self._retired.items() if other == task_type)

    def description(self, name: str) -> str:
        """Return the detail of a node, by its own name (`skill/x`, `task_type/y`, `observation/z`); "" if none. For a
        tool it is its name, for an action recipe the achievement, for an entity its kind."""
        # A skill's detail is its parent (see `parent`), so its description is kept separately.
        if name.startswith("skill/"):
            return self._descriptions.get(name, "")
        return self._details.get(name, "")

    def parent(self, skill: str) -> str:
        return self._details.get(f"skill/{skill}", "")

    def prerequisites(self, skill: str) -> list[str]:
        return self._ordered().prerequisites(skill)

    def closure(self, skill: str) -> list[str]:
        return self._ordered().closure(skill)

    def composition(self, skill: str) -> list[str]:
        return self._ordered().composition(skill)

    def directly_before(self, skill: str) -> list[str]:
        return self._ordered().directly_before(skill)

    def skills_in_order(self) -> list[str]:
        return self._ordered().in_order()

    def would_close_cycle(self, source: str, target: str) -> bool:
        return source == target or self._ordered().leads(_plain(target), _plain(source))

    def skill_for_task(self, task_type: str) -> str:
        """Return the skill with the largest `resolves` weight, ties by name; `general` if no edge exists.

        [section 3.1, skill for a task] The edge leads from task type to skill; the paper's arrow points the other way.
        """
        return self._resolvers[task_type][1] if task_type in self._resolvers else GENERAL

    def task_types_of(self, skill: str) -> list[str]:
        return [task_type for task_type in self._task_types if self.skill_for_task(task_type) == skill]

    def related(self, node: str) -> list[tuple[str, str]]:
        """Return (label, other node) of the `relation` edges that go out from a node, in lexicographic order."""
        return sorted({(label, target) for kind, label, target in self._out(node) if kind == "relation"})

    def observed_in(self, node: str) -> list[str]:
        return sorted({target for kind, _, target in self._out(node) if kind == "observed_in"})

    def node_counts(self) -> dict[str, int]:
        """Return how many nodes each subgraph has, without the memories of cases and principles."""
        kinds = (name.partition("/")[0] for name in self._index)
        counts: Counter[str] = Counter(SUBGRAPHS[kind] for kind in kinds if kind in SUBGRAPHS)
        # Patterns are the only nodes that are ever pruned, and they belong to the experience subgraph.
        counts["experience"] -= len(self._pruned_nodes())
        return {subgraph: count for subgraph, count in sorted(counts.items()) if count}

    def edge_counts(self) -> dict[str, int]:
        return dict(sorted(self._kinds.items()))

    def digest(self) -> str:
        # Facts are never changed, so those hashed at an earlier close are not hashed again.
        self._hashes.extend(sha256(encoded(fact)).digest() for fact in self._unhashed())
        self._hashed = (len(self._details), self._graph.num_edges(), *map(len, self._later_facts()))
        self._hashes.sort()  # nearly sorted from the last time, which makes the sort fast
        return digest_of_set(self._hashes)

    def dump(self) -> Any:
        """Return nodes in order of appearance and their details; for each edge, once, its ends and what it is.
        Then the details of skills, the examples of induced types, and what was pruned or went out of use."""
        names = self._graph.nodes()
        numbers = {edge: number for number, edge in enumerate(dict.fromkeys(self._graph.edges()))}
        sources, targets = np.asarray(self._graph.edge_list(), np.int64).reshape(-1, 2).T.tolist()
        kinds = list(map(numbers.__getitem__, self._graph.edges()))
        details = list(map(self._details.get, names))
        later = [self._descriptions, self._examples, list(self._pruned), self._retired]
        return [names, details, list(numbers), sources, targets, kinds, *later]

    def load(self, dumped: Any) -> None:
        self._clear()
        names, details, different, sources, targets, kinds, descriptions, examples, pruned, retired = dumped
        self._graph.add_nodes_from(names)
        self._index = dict(zip(names, range(len(names)), strict=True))
        self._details = {name: detail for name, detail in zip(names, details, strict=True) if detail is not None}
        self._skills = sorted(_plain(name) for name in self._details if name.startswith("skill/"))
        self._task_types = sorted(_plain(name) for name in self._details if name.startswith("task_type/"))
        edges = [self._shared(*edge) for edge in different]
        self._graph.add_edges_from(list(zip(sources, targets, map(edges.__getitem__, kinds), strict=True)))
        for number, count in Counter(kinds).items():
            self._kinds[edges[number][0]] += count
        for source, target, number in zip(sources, targets, kinds, strict=True):
            kind, weight, _ = edges[number]
            if kind == "resolves":
                self._resolve(names[source], names[target], weight)
        self._descriptions, self._pruned = dict(descriptions), dict.fromkeys(pruned)
        self._examples = {name: tuple(ids) for name, ids in examples.items()}
        self._retired = dict(retired)

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

    def _connect(self, kind: str, source: str, target: str, weight: float = 1.0, label: str = "") -> None:
        index = self._index
        # An edge may name a node before its own event comes (a fold by type); `_node` makes it, `_create` describes it.
        a = index[source] if source in index else self._node(source)
        b = index[target] if target in index else self._node(target)
        self._graph.add_edge(a, b, self._shared(kind, weight, label))
        self._kinds[kind] += 1
        if kind in ORDERING_KINDS:
            self._ordering = None
        elif kind == "resolves":
            self._resolve(source, target, weight)

    def _resolve(self, skill: str, task_type: str, weight: float) -> None:
        task_type, resolver = _plain(task_type), (-weight, _plain(skill))
        self._resolvers[task_type] = min(resolver, self._resolvers.get(task_type, resolver))

    def _shared(self, kind: str, weight: float = 1.0, label: str = "") -> tuple[str, float, str]:
        edge = (kind, weight, label)
        return self._edges.setdefault(edge, edge)  # equal edges are kept once

    def _unhashed(self) -> Iterator[tuple[object, ...]]:
        """Yield the facts since the last digest: no node is ever freed, so indices in the graph are in order.

        A skill's description and an edge's label are in the fact only if they say something.
        """
        nodes, edges, *later = self._hashed
        for name, detail in islice(self._details.items(), nodes, None):
            description = self._descriptions.get(name)
            yield (name, detail) if description is None else (name, detail, description)
        for place in range(edges, self._graph.num_edges()):
            source, target = self._graph.get_edge_endpoints_by_index(place)
            kind, weight, label = self._graph.get_edge_data_by_index(place)
            fact = (kind, self._graph[source], self._graph[target], weight)
            yield (*fact, label) if label else fact
        for facts, seen in zip(self._later_facts(), later, strict=True):
            yield from islice(facts, seen, None)

    def _later_facts(self) -> tuple[list[tuple[object, ...]], ...]:
        return (
            [("pruned", name) for name in self._pruned],
            [("examples", *item) for item in self._examples.items()],
            [("retired", *item) for item in self._retired.items()],
        )

    def _pruned_nodes(self) -> list[str]:
        return [name for name in self._pruned if name in self._details]

    def _out(self, node: str) -> Iterator[tuple[str, str, str]]:
        if node in self._index:
            for _, target, (kind, _, label) in self._graph.out_edges(self._index[node]):
                yield kind, label, self._graph[target]

    def _ordered(self) -> Ordering:
        if self._ordering is None:
            names = [f"skill/{skill}" for skill in self._skills]
            edges = [
                (_plain(name), _plain(target), kind)
                for name in names
                for kind, _, target in self._out(name)
                if kind in ORDERING_KINDS and target.startswith("skill/")
            ]
            self._ordering = Ordering(self._skills, edges)
        return self._ordering

    def _node(self, name: str) -> int:
        index = self._index.get(name)
        if index is None:
            index = self._index[name] = self._graph.add_node(name)
        return index


def _plain(name: str) -> str:
    return name.partition("/")[2]
