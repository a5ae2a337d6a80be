"""The life of a run as interval tables: its events one after another, and the rows that each of them changed.

Rules
    - What a row says is what the projections say: an event goes to the state first, and then the rows of the keys that
      it names are read off the state. No rule is repeated here.
    - Where nothing is folded (edges, askings, curations) a row is the event's own fields.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mage_es.engine.run.pricing import Prices
from mage_es.engine.viewing.askings import Askings
from mage_es.engine.viewing.counted import Counted
from mage_es.engine.viewing.learned import Learned, line
from mage_es.engine.viewing.tables import Rows
from mage_es.events import vocabulary as v
from mage_es.events.log.markers import marker_of
from mage_es.events.vocabulary import Event, Record, tag_of
from mage_es.projections.fold import State, uncollected

EXACT = 100_000
"""Up to this many events, every table is exact at each of them."""
_STOPS = frozenset[type[Event]]({v.PhaseCompleted, v.IterationClosed, v.ExamOpened, v.ExamClosed})
_MARKED: tuple[type[Event], ...] = (
    *(v.PhaseCompleted, v.IterationClosed, v.SlotsRolledBack, v.MemoryQuarantined, v.MemoryReleased, v.SkillSplit),
    *(v.ExamOpened, v.ExamClosed, v.ExamRejudged, v.QuestionsReasked, v.KeyDestroyed),
    *(v.RunResumed, v.LogRepaired, v.RunFinished),
)
_MADE_OF = frozenset[type[Event]]({v.AnswerJudged, v.ModelCalled})
"""The kinds of facts that something learned can name as its origin."""
_OPENED = ("inference", "session", "key", "shape", "model", "treatment", "task_type", "arm", "probability")
_CLOSED = (
    "outcome",
    "status",
    "problem",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "latency_us",
    "overhead_us",
)
_NONE = (-1, "")
"""The value in an event for an unknown count or text."""
_DIGITS = 12


class Life:
    """The tables of a run (engine/viewing/tables.py), event by event.

    `exact`: every row begins at its very event; otherwise rows of scores, posteriors and cost begin at stops.
    """

    def __init__(self, *, exact: bool = True, prices: Prices | None = None) -> None:
        self.state, self.exact, self.seq = State(), exact, 0
        self.learned = Learned(self.state)
        self.asked = Askings(self.state)
        self.counted = Counted(self.state, self.learned, prices or Prices())
        self.inferences = Rows(f"from closed {' '.join(_OPENED)} memories {' '.join(_CLOSED)} question")
        self.feedback = Rows("from inference session metric kind value_micro text key")
        self.stops: list[int] = []
        self.markers: list[dict[str, Any]] = []
        self.marks: list[dict[str, Any]] = []
        self._types: dict[type[Event], None] = {}
        self.began_us = self.ended_us = 0
        self._inferences: dict[str, int] = {}
        self._facts, self._fact_seqs = array("Q"), array("Q")
        self._sorted: tuple[Any, ...] = ()
        self._causes, self._effects = array("Q"), array("Q")
        self._readers: dict[type[Event], list[Callable[[int, Event], None]]] = {}
        for book in (self.learned, self.asked, self.counted):
            for cls in book.reads:
                self._readers.setdefault(cls, []).append(book.apply)
        for cls in _MARKED:
            self._readers.setdefault(cls, []).append(self._mark)
        for cls in (v.InferenceOpened, v.InferenceClosed, v.FeedbackGiven):
            self._readers.setdefault(cls, []).append(self._serve)

    def tables(self) -> dict[str, Rows]:
        books = (self.learned, self.asked, self.counted, self)
        return {name: rows for book in books for name, rows in vars(book).items() if isinstance(rows, Rows)}

    def apply(self, record: Record) -> None:
        """Take in the next event."""
        event, self.seq = record.event, record.seq
        cls = type(event)
        self.state.apply(event)
        self._types[cls] = None
        self.began_us, self.ended_us = self.began_us or record.ts_us, record.ts_us
        if record.causation:
            self._causes.append(record.causation)
            self._effects.append(record.seq)
        if cls in _MADE_OF:
            self._facts.append(_short(record.fact_id))
            self._fact_seqs.append(record.seq)
        for apply in self._readers.get(cls, ()):
            apply(record.seq, event)
        if cls in _STOPS:
            self.stop()
        elif self.exact:
            self.counted.settle(record.seq)

    def begin_with(self, event: Event) -> None:
        """Take in an event from the log that this one goes on from: it holds from event 0 on."""
        self.state.apply(event)
        for book in (self.learned, self.counted):
            if type(event) in book.reads:
                book.apply(0, event)

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
        if not self._sorted:
            known, seqs = np.frombuffer(self._facts, np.uint64), np.frombuffer(self._fact_seqs, np.uint64)
            order = np.argsort(known, kind="stable")
            self._sorted = (known[order], seqs[order])
        known, seqs = self._sorted
        wanted = np.array([_short(bytes.fromhex(name)) for name in names], np.uint64)
        places = np.searchsorted(known, wanted)
        places = places[places < len(known)]
        found: list[int] = np.sort(seqs[places[np.isin(known[places], wanted)]]).tolist()
        return found

    def caused(self, first: int, last: int) -> list[list[int]]:
        """Return for each event from `first` to `last` those that name it as their cause."""
        causes, effects = np.frombuffer(self._causes, np.uint64), np.frombuffer(self._effects, np.uint64)
        found: dict[int, list[int]] = {}
        for place in np.flatnonzero((causes >= first) & (causes <= last)).tolist():
            found.setdefault(int(causes[place]), []).append(int(effects[place]))
        return [found.get(seq, []) for seq in range(first, last + 1)]

    def _mark(self, seq: int, event: Event) -> None:
        if marker := marker_of(event, v.MAGE_ES.marks):
            told = {"iteration": marker.number, "phase": marker.phase}
            self.markers.append({"name": str(marker), "seq": seq, **told})
        else:
            kind, text = _marked(event)
            self.marks.append({"seq": seq, "kind": kind, "text": line(text)})

    def _serve(self, seq: int, event: Event) -> None:
        match event:
            case v.InferenceOpened():
                named = [self.learned.rows[name] for name in event.memories if name in self.learned.rows]
                told = [getattr(event, name) for name in _OPENED]
                row = self.inferences.add(seq, None, *told, named, *[None] * len(_CLOSED), line(event.question) or None)
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


def lives(records: Iterable[Record], life: Life) -> Life:
    """Take in all of these events, and stop at the last."""
    with uncollected():
        for record in records:
            if record.seq > 0:
                life.apply(record)
            else:
                life.begin_with(record.event)
        life.stop()
    return life


def _marked(event: Event) -> tuple[str, str]:
    """Return the kind and the words by which a timeline shows an event."""
    match event:
        case v.SlotsRolledBack():
            return "rollback", "back to the start" if event.to_iteration < 0 else f"back to iter-{event.to_iteration}"
        case v.MemoryQuarantined():
            return "quarantine", f"{event.memory_id} by {event.by}: {event.reason}"
        case v.MemoryReleased():
            return "release", f"{event.memory_id} by {event.by}: {event.reason}"
        case v.SkillSplit():
            return "split", f"{event.skill} into {', '.join(event.children)}"
        case v.ExamOpened():
            return "exam", f"{event.exam} begins"
        case v.ExamClosed():
            return "exam", f"{event.exam or 'exam'}: {event.correct} of {event.total} right"
        case v.ExamRejudged():
            return "exam", f"{event.exam}, scored again: {event.correct} of {event.total} right"
        case v.QuestionsReasked():
            found = "; ".join(_found(event))
            return "asked again", f"{event.verb}, {event.calls} calls{f': {found}' if found else ''}"
        case v.KeyDestroyed():
            return "erased", f"subject {event.subject_id} by {event.by}: {event.reason}"
        case v.RunResumed():
            return "resumed", f"resumption {event.attempt}, by release {event.package_version}"
        case v.LogRepaired():
            return "repaired", event.reason
        case v.RunFinished():
            return "finished", f"after {event.iterations} iterations"
    raise TypeError(f"{type(event).__name__} is on no timeline")


def _found(event: v.QuestionsReasked) -> Iterator[str]:
    """Yield what was found by asking again, in words."""
    for each in event.without:
        named = each.memories[0][:_DIGITS] if len(each.memories) == 1 else f"{len(each.memories)} memories"
        yield f"{named} {each.won} won, {each.lost} lost of {each.pairs}"
    for flip in event.flips:
        by = f", by {flip.memory_id[:_DIGITS]}" if flip.memory_id else ""
        yield f"{flip.question_id} flips from {flip.before} to {flip.after}{by}"


def _short(fact: bytes) -> int:
    return int.from_bytes(fact[:8])
