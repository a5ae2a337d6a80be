"""The fold: the state of a run is what its events say, one after another, and nothing else.

Rules
    - The same function makes the live state, the replayed state and the state of an exam: an event goes to
      every projection that reads its type.
    - A fold reads only the types and fields that some projection declares; what it skips can change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from mage_es.events.documents import Head
from mage_es.events.errors import UsageError
from mage_es.events.vocabulary import Digest, Event
from mage_es.projections.bandits import Bandits
from mage_es.projections.coverage import Coverage
from mage_es.projections.evidence import Evidence
from mage_es.projections.graph import Graph
from mage_es.projections.ledger import Ledger
from mage_es.projections.memory import Memory
from mage_es.projections.progress import Progress
from mage_es.projections.protocol import Projection, Reads
from mage_es.projections.questions import Questions
from mage_es.projections.scores import Scores
from mage_es.projections.slots import Slots


class State:
    """Every projection of a run by name. `seq` is the last sequence number folded in (0: none)."""

    def __init__(self) -> None:
        self.seq = 0
        self.graph = Graph()
        self.memory = Memory()
        self.slots = Slots()
        self.evidence = Evidence()
        self.bandits = Bandits()
        self.coverage = Coverage()
        self.scores = Scores()
        self.ledger = Ledger()
        self.questions = Questions()
        self.progress = Progress()
        self._readers: dict[type[Event], list[Callable[[Event], None]]] = {}
        for projection in self.projections():
            for event_type in projection.reads:
                self._readers.setdefault(event_type, []).append(projection.apply)

    def digested(self) -> tuple[Projection, ...]:
        """Return the projections that a run is compared by, in the order of their digests."""
        return (
            self.graph,
            self.memory,
            self.slots,
            self.evidence,
            self.bandits,
            self.coverage,
            self.scores,
            self.ledger,
            self.questions,
        )

    def projections(self) -> tuple[Projection, ...]:
        """Return every projection."""
        return (*self.digested(), self.progress)

    def apply(self, event: Event) -> None:
        """Give one event to every projection that reads its type."""
        for apply in self._readers.get(type(event), ()):
            apply(event)

    def digests(self) -> tuple[Digest, ...]:
        """Return the digest of every projection that has one."""
        return tuple(Digest(projection=view.name, value=view.digest()) for view in self.digested())

    def counts(self) -> dict[str, int]:
        """Return the sizes of the state: nodes by subgraph, edges by kind, memories stored."""
        nodes = {f"nodes/{subgraph}": count for subgraph, count in self.graph.node_counts().items()}
        edges = {f"edges/{kind}": count for kind, count in self.graph.edge_counts().items()}
        return {**nodes, **edges, "memories": len(self.memory)}


class Source(Protocol):
    """What a fold needs of a log; `events.reader.LogReader` is one."""

    def events(self, reads: Reads, *, since: int = 1, until: int | None = None) -> Iterator[tuple[int, Event]]:
        """Return (seq, event) of these types in order of seq; fields not asked for may be None."""
        ...

    @property
    def head(self) -> Head:
        """Return the last event's place in the log."""
        ...


def reads_of(projections: tuple[Projection, ...]) -> Reads:
    """Return the union of what the projections read."""
    union: dict[type[Event], dict[str, None]] = {}
    for projection in projections:
        for event_type, fields in projection.reads.items():
            union.setdefault(event_type, {}).update(dict.fromkeys(fields))
    return {event_type: tuple(fields) for event_type, fields in union.items()}


def fold(source: Source, *, until: int | None = None, state: State | None = None) -> State:
    """Return the state after event `until` (default: the last), going on from `state` where one is given.

    Raises `UsageError` when `state` is already past `until`.
    """
    state = state or State()
    until = source.head.seq if until is None else until
    if state.seq > until:
        raise UsageError(f"The state is at event {state.seq}, past the wanted {until}; fold into a new state.")
    for _, event in source.events(reads_of(state.projections()), since=state.seq + 1, until=until):
        state.apply(event)
    state.seq = until
    return state
