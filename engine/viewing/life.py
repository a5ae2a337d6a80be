"""The life of a run as interval tables: its events one after another, and the rows that each of them changed.

Rules
    - A row says what the projections say: an event is first applied to the state, and then the rows of the keys that it
      names are read from the state. No rule is repeated here, with one exception: what happens to a memory
      (`learned.Fates`), because the memories themselves are gigabytes, and most are never looked at.
    - Where no state is folded (edges, askings, curations), a row holds the event's own fields.
    - Only fields that some table shows are read, one stretch of the log at a time. Plans, verdicts and causes are taken
      as columns; all other events are applied one by one.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.run.anchors import Unmeasured
from mage_es.engine.run.pricing import Prices
from mage_es.engine.viewing.askings import Askings
from mage_es.engine.viewing.counted import Counted
from mage_es.engine.viewing.learned import Learned, line
from mage_es.engine.viewing.tables import Rows, whole
from mage_es.events import vocabulary as v
from mage_es.events.errors import counted
from mage_es.events.facts import event_id
from mage_es.events.log.markers import marker_of
from mage_es.events.segments import Batches, Reads
from mage_es.events.vocabulary import Event, tag_of
from mage_es.projections.fold import State, uncollected, union
from mage_es.projections.protocol import Projection

T = TypeVar("T")

EXACT = 100_000
"""Up to this many events, every table is exact at each of them."""
_STOPS = frozenset[type[Event]]({v.PhaseCompleted, v.IterationClosed, v.ExamOpened, v.ExamClosed})
_MADE_OF: tuple[type[Event], ...] = (v.AnswerJudged, v.ModelCalled)
"""The kinds of facts that something learned can name as its origin."""
_SERVED = whole(v.InferenceOpened, v.InferenceClosed, v.FeedbackGiven)
_PROGRESS: Reads = {v.IterationClosed: ("iteration",), v.RunFinished: ("iterations",)}
"""What is read from progress: not the work of an iteration, which no table shows."""
Readers = dict[type[Event], list[Callable[[int, Event], None]]]
HEADERS = ("causation_seq", "event_id")
"""The header's columns that are read for every event."""
_OPENED = ("inference", "session", "key", "shape", "model", "treatment", "task_type", "arm", "probability")
_TOLD = ("outcome", "status", "problem")
_CLOSED = (*_TOLD, "input_tokens", "cached_tokens", "output_tokens", "latency_us", "overhead_us")
_NONE = (-1, "")
"""The value in an event for an unknown count or text."""
_DIGITS = 12


class Life:
    """The tables of a run (engine/viewing/tables.py), event by event.

    `exact`: every row begins at the event that caused it; otherwise rows of scores, posteriors and cost begin at stops.
    """

    def __init__(
        self, *, exact: bool = True, prices: Prices | None = None, run: str = "", older: Unmeasured | None = None
    ) -> None:
        """`run` is the id in the log, from which the ids of its events follow; `older` are the anchors that an
        iteration did not measure."""
        self.state, self.exact, self.seq = State(), exact, 0
        self.learned = Learned(self.state)
        self.asked = Askings(self.state, self.learned.rows)
        self.counted = Counted(self.state, self.learned, prices or Prices(), older or {})
        self.inferences = Rows(
            f"from closed {' '.join(_OPENED)} memories {' '.join(_CLOSED)} question",
            numbers="from closed input_tokens cached_tokens output_tokens latency_us overhead_us",
            codes="session key shape model treatment task_type arm outcome status problem",
        )
        self.feedback = Rows(
            "from inference session metric kind value_micro text key",
            numbers="from inference value_micro",
            codes="session metric kind key",
        )
        self.stops: list[int] = []
        self.markers: list[dict[str, Any]] = []
        self.marks: list[dict[str, Any]] = []
        self._run = run
        self._types: dict[type[Event], None] = {}
        self._inferences: dict[str, int] = {}
        self._facts, self._fact_seqs = list[NDArray[np.uint64]](), list[NDArray[np.int64]]()
        self._sorted: tuple[Any, ...] = ()
        self._causes = list[tuple[int, NDArray[np.uint32]]]()
        folded = self._folded()
        books: list[tuple[Reads, Callable[[int, Event], None]]] = [
            (self.learned.reads, self.learned.apply),
            (Askings.singly, self.asked.apply),
            (self.counted.reads, self.counted.apply),
            (_MARKED, self._mark),
            (_SERVED, self._serve),
        ]
        self._folds, self._readers = _by_type((reads, view.apply) for view, reads in folded), _by_type(books)
        self.reads = union([*(reads for _, reads in folded), Askings.reads, *(reads for reads, _ in books)])

    def tables(self) -> dict[str, Rows]:
        self.asked.join()
        books = (self.learned, self.asked, self.counted, self)
        return {name: rows for book in books for name, rows in vars(book).items() if isinstance(rows, Rows)}

    def take(self, batches: Batches) -> None:
        """Take in the next stretch of the log, with `HEADERS`."""
        if not batches:
            return
        firsts = sorted((batch.seqs[0], place, cls) for place, (cls, batch) in enumerate(batches.items()))
        is_past = firsts[0][0] < 1  # from the log that this one continues: it holds from event 0 on
        if is_past:
            readers: Readers = _by_type((book.reads, book.apply) for book in (self.learned, self.counted))
        else:
            readers = self._readers
            self._types.update(dict.fromkeys(cls for *_, cls in firsts))
            self._note(batches)
            if self.exact:  # including state from before the first event
                self.counted.settle(firsts[0][0])
        steps = {cls: (self._folds.get(cls, ()), readers.get(cls, ())) for cls in self._folds.keys() | readers.keys()}
        stops = frozenset[type[Event]]() if is_past else _STOPS
        is_exact = self.exact and not is_past
        for seq, event in _merged(batches, steps):
            cls = type(event)
            folds, applies = steps[cls]
            for fold in folds:
                fold(event)
            for apply in applies:
                apply(seq, event)
            if cls in stops:
                self.seq = seq
                self.stop()
            elif is_exact:
                self.counted.settle(seq)
        if is_past:
            return
        self.seq = max(batch.seqs[-1] for batch in batches.values())
        self.asked.take(batches)
        self.learned.resolve(self.asked.rows)

    def types(self) -> list[str]:
        """Return the types of the events so far, each once."""
        return [tag_of(cls) for cls in self._types]

    def stop(self) -> None:
        """Make the last event a stop, at which every table is exact."""
        self.counted.settle(self.seq)
        if self.seq and self.stops[-1:] != [self.seq]:
            self.stops.append(self.seq)
            at = self.markers[-1] if self.markers else {}
            self.counted.stop(self.seq, at["name"] if at.get("seq") == self.seq else f"seq:{self.seq}")

    def facts(self, names: Sequence[str]) -> list[int]:
        """Return the events with these fact ids (hexadecimal), except those of another log."""
        known, seqs = self._sorted
        ids = b"".join(event_id(self._run, bytes.fromhex(name))[:8] for name in names)
        wanted = np.frombuffer(ids, ">u8").astype(np.uint64)
        places = np.searchsorted(known, wanted)
        places = places[places < len(known)]
        found: list[int] = np.sort(seqs[places[np.isin(known[places], wanted)]]).tolist()
        return found

    def caused(self, first: int, last: int) -> list[list[int]]:
        """Return for each event from `first` to `last` those that name it as their cause."""
        found: dict[int, list[int]] = {}
        for start, back in self._causes:
            if start + len(back) > first:
                causes = np.arange(start, start + len(back)) - back
                for place in np.flatnonzero((back > 0) & (causes >= first) & (causes <= last)).tolist():
                    found.setdefault(int(causes[place]), []).append(start + place)
        return [found.get(seq, []) for seq in range(first, last + 1)]

    def _folded(self) -> list[tuple[Projection, Reads]]:
        """Return the views of the state from which tables are read, each with the fields that it reads."""
        state = self.state
        views = (state.graph, state.slots, state.evidence, state.patterns, state.tools, state.recipes)
        counts = (state.traffic, state.scores, state.bandits, state.ledger)
        return [*((view, view.reads) for view in (*views, *counts)), (state.progress, _PROGRESS)]

    def _note(self, batches: Batches) -> None:
        """Note the causes of events and the ids of facts."""
        seqs = np.concatenate([batch.seqs for batch in batches.values()])
        causes = np.concatenate([batch.headers["causation_seq"] for batch in batches.values()]).astype(np.int64)
        if causes.any():
            back = np.zeros(len(seqs), np.uint32)  # how many events before: half the room of a number
            back[seqs - seqs.min()] = np.where(causes, seqs - causes, 0)
            self._causes.append((int(seqs.min()), back))
        for cls in _MADE_OF:
            if cls in batches:
                ids = np.ascontiguousarray(batches[cls].headers["event_id"][:, :8])
                self._facts.append(ids.view(">u8").ravel().astype(np.uint64))
                self._fact_seqs.append(np.asarray(batches[cls].seqs))

    def end(self) -> None:
        """Make the last event a stop; no more will come."""
        self.stop()
        known = np.concatenate([np.zeros(0, np.uint64), *self._facts])
        seqs = np.concatenate([np.zeros(0, np.int64), *self._fact_seqs])
        self._facts, self._fact_seqs = [], []
        order = np.argsort(known, kind="stable")
        self._sorted = (known[order], seqs[order])

    def _mark(self, seq: int, event: Event) -> None:
        if marker := marker_of(event, v.MAGE_ES.marks):
            place = {"iteration": marker.number, "phase": marker.phase}
            self.markers.append({"name": str(marker), "seq": seq, **place})
        else:
            kind, text = _MARKS[type(event)]
            self.marks.append({"seq": seq, "kind": kind, "text": line(text(event))})

    def _serve(self, seq: int, event: Event) -> None:
        match event:
            case v.InferenceOpened():
                named = [self.learned.rows[name] for name in event.memories if name in self.learned.rows]
                values = [getattr(event, name) for name in _OPENED]
                row = self.inferences.add(
                    seq, None, *values, named, *[None] * len(_CLOSED), line(event.question) or None
                )
                self._inferences[event.inference] = row
            case v.InferenceClosed() if event.inference in self._inferences:
                row = self._inferences[event.inference]
                self.inferences.columns["closed"][row] = seq
                for name in _CLOSED:
                    value = getattr(event, name)
                    self.inferences.columns[name][row] = None if value in _NONE else value
            case v.FeedbackGiven():
                is_score = event.kind in ("bool", "float")
                value = event.value_micro if is_score else None
                said = (event.session, event.metric, event.kind, value, event.text or None, event.key)
                self.feedback.add(seq, self._inferences.get(event.inference), *said)


def lives(stretches: Iterable[Batches], life: Life) -> Life:
    """Let a life take in these events, and finish it even if one of them cannot be read."""
    with uncollected():
        try:
            for batches in stretches:
                life.take(batches)
        finally:
            life.end()
    return life


def _by_type(given: Iterable[tuple[Reads, T]]) -> dict[type[Event], list[T]]:
    found: dict[type[Event], list[T]] = {}
    for reads, each in given:
        for cls in reads:
            found.setdefault(cls, []).append(each)
    return found


def _merged(batches: Batches, types: Container[type[Event]]) -> Iterator[tuple[int, Event]]:
    """Yield the events of these types in order, each after its number."""
    found = [batch for cls, batch in batches.items() if cls in types]
    if not found:
        return
    seqs = np.concatenate([batch.seqs for batch in found])
    events = list(chain.from_iterable(batch.events for batch in found))
    order = np.argsort(seqs, kind="stable").tolist()
    yield from zip(map(seqs.tolist().__getitem__, order), map(events.__getitem__, order), strict=True)


def _asked_again(event: v.QuestionsReasked) -> str:
    found = "; ".join(_findings(event))
    return f"{event.verb}, {counted(event.calls, 'call')}{f': {found}' if found else ''}"


def _findings(event: v.QuestionsReasked) -> Iterator[str]:
    """Yield in words the findings of asking again."""
    for each in event.without:
        named = each.memories[0][:_DIGITS] if len(each.memories) == 1 else f"{len(each.memories)} memories"
        yield f"{named} {each.won} won, {each.lost} lost of {each.pairs}"
    for flip in event.flips:
        by = f", by {flip.memory_id[:_DIGITS]}" if flip.memory_id else ""
        yield f"{flip.question_id} flips from {flip.before} to {flip.after}{by}"
    for said in event.judged:
        of = f"of exam {said.exam}" if said.exam else "to its questions"
        yield f"{said.judge} finds {said.now} of {said.total} answers {of} right, on record are {said.right}"


_MARKS: Mapping[type[Event], tuple[str, Callable[[Any], str]]] = {
    v.SlotsRolledBack: (
        "rollback",
        lambda e: f"back to {'the start' if e.to_iteration < 0 else f'iter-{e.to_iteration}'}",
    ),
    v.MemoryQuarantined: ("quarantine", lambda e: f"{e.memory_id} by {e.by}: {e.reason}"),
    v.MemoryReleased: ("release", lambda e: f"{e.memory_id} by {e.by}: {e.reason}"),
    v.SkillSplit: ("split", lambda e: f"{e.skill} into {', '.join(e.children)}"),
    v.ExamOpened: ("exam", lambda e: f"{e.exam} begins"),
    v.ExamClosed: ("exam", lambda e: f"{e.exam or 'exam'}: {e.correct} of {e.total} right"),
    v.ExamRejudged: ("exam", lambda e: f"{e.exam}, scored again: {e.correct} of {e.total} right"),
    v.ReaskingBegun: ("asked again", lambda e: f"{e.verb} begins"),
    v.QuestionsReasked: ("asked again", _asked_again),
    v.KeyDestroyed: ("erased", lambda e: f"subject {e.subject_id} by {e.by}: {e.reason}"),
    v.RunResumed: ("resumed", lambda e: f"resumption {e.attempt}, by release {e.package_version}"),
    v.LogRepaired: ("repaired", lambda e: str(e.reason)),
    v.RunFinished: ("finished", lambda e: f"after {e.iterations} iterations"),
}
"""The kind and the words by which a timeline shows an event."""
_MARKED = whole(v.PhaseCompleted, v.IterationClosed, *_MARKS)
"""What a timeline shows: markers, and these."""
