"""The skills and the edges that order them: what a skill needs first, without cycles, on a small separate graph.

It is rebuilt after a skill or an ordering edge is added, which is rare compared with queries.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import rustworkx as rx

PREREQUISITE = "prerequisite_of"
ORDERING_KINDS = frozenset({PREREQUISITE, "composes_into"})  # the capability edges; together they stay acyclic

_Digraph: TypeAlias = "rx.PyDiGraph[str, str]"


class Ordering:
    """Skills by their plain names; queries about an unknown skill get an answer too."""

    def __init__(self, skills: Sequence[str], edges: Iterable[tuple[str, str, str]]) -> None:
        self._graph: _Digraph = rx.PyDiGraph(multigraph=True)
        self._places = dict(zip(skills, self._graph.add_nodes_from(list(skills)), strict=True))
        # Asked for every question of a phase; the graph never changes, so each closure is computed once.
        self._closures: dict[str, list[str]] = {}
        for source, target, kind in edges:
            # An edge to a skill that was never created orders nothing.
            if source in self._places and target in self._places:
                self._graph.add_edge(self._places[source], self._places[target], kind)

    def prerequisites(self, skill: str) -> list[str]:
        """Return the direct prerequisites of a skill in lexicographic order; none for an unknown skill."""
        if skill not in self._places:
            return []
        edges = self._graph.in_edges(self._places[skill])
        return sorted({self._graph[source] for source, _, kind in edges if kind == PREREQUISITE})

    def closure(self, skill: str) -> list[str]:
        """Return a skill and everything that it needs, directly or indirectly: prerequisites first, ties in
        lexicographic order."""
        if skill not in self._closures:
            needed, waiting = {skill}, [skill]
            while waiting:
                new = set(self.prerequisites(waiting.pop())) - needed
                needed |= new
                waiting += new
            self._closures[skill] = self._sorted(needed)
        return list(self._closures[skill])

    def composition(self, skill: str) -> list[str]:
        """Return a skill and everything that leads to it (what it needs or is composed of, directly or indirectly), in
        that order."""
        if skill not in self._places:
            return [skill]
        # Unlike a closure this follows both kinds of edges: parts of a skill come before it, though it can do without.
        before = rx.ancestors(self._graph, self._places[skill])
        return self._sorted({skill, *(self._graph[place] for place in before)})

    def directly_before(self, skill: str) -> list[str]:
        """Return what a skill needs or is composed of directly, in lexicographic order; none for an unknown skill."""
        if skill not in self._places:
            return []
        return sorted({self._graph[source] for source, _, _ in self._graph.in_edges(self._places[skill])})

    def in_order(self) -> list[str]:
        return list(rx.lexicographical_topological_sort(self._graph, key=str))

    def leads(self, source: str, target: str) -> bool:
        if source not in self._places or target not in self._places:
            return False
        return bool(rx.has_path(self._graph, self._places[source], self._places[target]))

    def _sorted(self, skills: set[str]) -> list[str]:
        part = self._graph.subgraph([self._places[name] for name in sorted(skills & self._places.keys())])
        # Ties by name, not by insertion: the same skills have one order in every run.
        return list(rx.lexicographical_topological_sort(part, key=str)) or sorted(skills)
