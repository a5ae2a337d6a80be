"""The fold: the state of a run is what its events say, one after another, and nothing else.

Rules
    - The live state, the replayed state and the state of an exam come from the same function: it gives each event to
      every projection that reads its type.
    - A fold reads only the types and fields that some projection declares; the rest cannot change the state.
    - If a state has a snapshot, each view is loaded on first use: from the snapshot if its digest matches the log, else
      from the log. Applying an event loads all of them. Digests do not cover all of slots, ledger and texts, so these
      are never taken from a snapshot.
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from threading import RLock
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mage_es.events.errors import UsageError
from mage_es.events.segments import Batch, Batches, Reads
from mage_es.events.vocabulary import Digest, Event, IterationClosed
from mage_es.projections.bandits import Bandits
from mage_es.projections.benefit import Benefit
from mage_es.projections.coverage import Coverage
from mage_es.projections.evidence import Evidence
from mage_es.projections.graph import Graph
from mage_es.projections.ledger import Ledger
from mage_es.projections.memory import Memory
from mage_es.projections.patterns import Patterns
from mage_es.projections.probation import Probation
from mage_es.projections.progress import Progress
from mage_es.projections.protocol import Columnar, Projection
from mage_es.projections.questions import Questions
from mage_es.projections.recall import RecallRecord
from mage_es.projections.recipes import Recipes
from mage_es.projections.scores import Scores
from mage_es.projections.slots import Slots
from mage_es.projections.texts import Texts
from mage_es.projections.tools import Tools
from mage_es.projections.traffic import Traffic

if TYPE_CHECKING:  # it loads pyarrow, which is slow
    from mage_es.events.log import LogReader

# The order is that of the digests in every closed iteration: a new projection goes last.
DIGESTED: tuple[type[Projection], ...] = (
    Graph,
    Memory,
    Slots,
    Evidence,
    Bandits,
    Coverage,
    Scores,
    Ledger,
    Questions,
    Tools,
    Recipes,
    Patterns,
    Traffic,
    Benefit,
    RecallRecord,
    Probation,
)
"""The projections by which runs are compared. Half-done work and the numbers of texts are folded but not compared: they
differ between a run that was interrupted and resumed and one that was not."""
UNCOVERED: tuple[type[Projection], ...] = (Slots, Ledger)
"""The projections that a digest does not cover completely."""
_ALL: tuple[type[Projection], ...] = (*DIGESTED, Progress, Texts)
_VIEWS = {view.name: view for view in _ALL}


class KeptState(Protocol):
    """A snapshot's part of a state at event `seq`."""

    @property
    def seq(self) -> int: ...

    def fill(self, view: Projection) -> bool:
        """Load a view's snapshot. Return whether it matches the log; if not, the view is useless."""


class State:
    """Every projection of a run by name. `seq` is the last sequence number folded in (0: none).

    A state that was `kept` has its `source`.
    """

    graph: Graph
    memory: Memory
    slots: Slots
    evidence: Evidence
    bandits: Bandits
    coverage: Coverage
    scores: Scores
    ledger: Ledger
    questions: Questions
    tools: Tools
    recipes: Recipes
    patterns: Patterns
    traffic: Traffic
    benefit: Benefit
    recall: RecallRecord
    probation: Probation
    progress: Progress
    texts: Texts

    def __init__(self, source: "LogReader | None" = None, kept: KeptState | None = None) -> None:
        self._source, self._kept = source, kept
        self.seq = self._until = kept.seq if kept else 0
        self._asking = RLock()  # many threads may ask a state that no longer changes

    def __getattr__(self, name: str) -> Projection:
        """Return a view that has not been loaded yet."""
        if name not in _VIEWS:
            raise AttributeError(f"a state has no view {name!r}")
        return self._views(name)[0]

    def _views(self, *names: str) -> tuple[Projection, ...]:
        with self._asking:
            asked = vars(self)
            new = {name: _VIEWS[name]() for name in names if name not in asked}
            if self._source:
                self._fill(self._source, new)
            asked.update(new)
            return tuple(asked[name] for name in names)

    def _fill(self, source: "LogReader", views: dict[str, Projection]) -> None:
        from_log = dict[str, Projection]()
        for name, view in views.items():
            if not (self._kept and self._kept.fill(view)):
                views[name] = from_log[name] = _VIEWS[name]()
        kept = tuple(view for name, view in views.items() if name not in from_log)
        fold_into(kept, source, since=self._kept.seq + 1 if self._kept else None, until=self._until)
        fold_into(tuple(from_log.values()), source, until=self._until)

    @cached_property
    def _readers(self) -> dict[type[Event], list[Callable[[Event], None]]]:
        # Looked up once per type: a live run applies its events one by one, and most are read by two or three
        # projections.
        readers: dict[type[Event], list[Callable[[Event], None]]] = {}
        for projection in self.projections():
            for event_type in projection.reads:
                readers.setdefault(event_type, []).append(projection.apply)
        return readers

    def digested(self) -> tuple[Projection, ...]:
        """Return the projections by which runs are compared, in the order of their digests."""
        return self._views(*(view.name for view in DIGESTED))

    def projections(self) -> tuple[Projection, ...]:
        return self._views(*_VIEWS)

    def extended_to(self, source: "LogReader", until: int) -> tuple[Projection, ...]:
        """Let projections be filled from a source up to event `until`, and return those to fold now; the others are
        folded when they are first used."""
        if source is not self._source:
            return self.projections()
        self._until = until
        return self._views(*(name for name in _VIEWS if name in vars(self)))

    def apply(self, event: Event) -> None:
        for apply in self._readers.get(type(event), ()):
            apply(event)

    def digests(self) -> tuple[Digest, ...]:
        return tuple(Digest(projection=view.name, value=view.digest()) for view in self.digested())

    def differing(self, recorded: Iterable[Digest]) -> list[str]:
        """Return the names of the recorded projections that have a different digest here, or are missing."""
        views = {view.name: view for view in self.digested()}
        return [
            each.projection
            for each in recorded
            if (view := views.get(each.projection)) is None or view.digest() != each.value
        ]

    def node_counts(self) -> dict[str, int]:
        """Return how many nodes each subgraph has, memories among them."""
        memories = {"experience": len(self.memory)} if len(self.memory) else {}
        return dict(Counter(self.graph.node_counts()) + Counter(memories))

    def counts(self) -> dict[str, int]:
        nodes = {f"nodes/{subgraph}": count for subgraph, count in self.node_counts().items()}
        edges = {f"edges/{kind}": count for kind, count in self.graph.edge_counts().items()}
        return {**nodes, **edges, "memories": len(self.memory)}


def reads_of(projections: tuple[Projection, ...]) -> Reads:
    return union(projection.reads for projection in projections)


def union(reads: Iterable[Reads]) -> Reads:
    """Return every type in any of these, with all of its fields."""
    union: dict[type[Event], dict[str, None]] = {}
    for each in reads:
        for event_type, fields in each.items():
            union.setdefault(event_type, {}).update(dict.fromkeys(fields))
    return {event_type: tuple(fields) for event_type, fields in union.items()}


def fold(source: "LogReader", *, until: int | None = None, state: State | None = None) -> State:
    """Return the state after event `until` (default: the last), continuing from `state` if it is given.

    Raises `UsageError` when `state` is already past `until`.

    [beyond the paper, replay] A fold of the log equals the live state, by the digest of every projection at every
    marker; a snapshot is only a cache.
    """
    state = state or State()
    until = source.head.seq if until is None else until
    if state.seq > until:
        raise UsageError(f"The state is at event {state.seq}, past event {until}; fold into a new state.")
    if state.seq < until or not until:
        fold_into(state.extended_to(source, until), source, since=state.seq + 1 if state.seq else None, until=until)
    # Not the last event read: a fold skips types that no projection reads, and they count as folded.
    state.seq = until
    return state


def fold_into(views: tuple[Projection, ...], source: "LogReader", *, since: int | None = None, until: int) -> None:
    """Give each view the events that it reads, from event `since` (None: including those that the log took from
    another) to `until`. Passing events are given only for the open iteration."""
    if not views or (since is not None and since > until):
        return
    # Up to the last closed iteration the passing events (most of a log: plans, calls, steps) are not even read from
    # disk, because closing the iteration would drop what they leave.
    own = 1 if since is None else since
    closed = source.last(IterationClosed, since=own, until=until)
    past = [(_lasting, None, 0)] if since is None else []
    for reads, first, last in (*past, (_lasting, own, closed), (_all, closed + 1 if closed else own, until)):
        if first is not None and first > last:
            continue
        wanted = union(reads(view) for view in views)
        with uncollected():
            for batches in source.batches(wanted, since=first, until=last):
                for view in views:
                    give(view, {cls: batches[cls] for cls in reads(view) if cls in batches})


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector from scanning a growing state again and again: it contains no garbage."""
    # A collection walks every object of the state, and a fold allocates enough to trigger one after another.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def give(view: Projection, batches: Batches) -> None:
    """Apply the events of a stretch of the log to a view; they must be of the types that it reads."""
    others = []
    for cls, batch in batches.items():
        # Columns first, even where order is `global`: events that refer to a memory always come after it in the log.
        # The protocol is slow to check, so only for a view that reads such types.
        if cls in getattr(view, "columnar", ()) and isinstance(view, Columnar):
            view.apply_columns(cls, batch.columns)
        else:
            others.append(batch)
    for event in chain.from_iterable(batch.events for batch in others) if view.order == "by_type" else merged(others):
        view.apply(event)


def merged(batches: Sequence[Batch]) -> Iterator[Event]:
    # A single batch is already in order, so most views never need to sort.
    if len(batches) < 2:
        return chain.from_iterable(batch.events for batch in batches)
    events = list(chain.from_iterable(batch.events for batch in batches))
    order = np.argsort(np.concatenate([batch.seqs for batch in batches]), kind="stable")
    return map(events.__getitem__, order.tolist())


def _all(view: Projection) -> Reads:
    return view.reads


def _lasting(view: Projection) -> Reads:
    passing = getattr(view, "passing", ())
    return {cls: fields for cls, fields in view.reads.items() if cls not in passing}
