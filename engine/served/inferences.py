"""An inference explained from the log: what was inserted, its outcome and the feedback on it."""

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import msgspec

from mage_es.engine.served.frozen import BundleMember, member_of
from mage_es.engine.served.notes import CaseLayout, note_of
from mage_es.events.errors import NotFound
from mage_es.events.log import LogReader
from mage_es.events.log.markers import Marker
from mage_es.events.vocabulary import FeedbackGiven, InferenceClosed, InferenceOpened, ServingStarted
from mage_es.projections.fold import State

Inferred = TypeVar("Inferred", InferenceOpened, InferenceClosed)


class InferenceReport(msgspec.Struct, frozen=True, kw_only=True):
    """An inference as recorded. `note` is what was chosen for it, rendered again from the state at its marker, as the
    chat turns before the client's (notes are in the first of them) or, if there are none, the text at the start of the
    client's turn; `note_verified` says whether it has the recorded hash, and `was_seen` whether it was inserted."""

    run_id: str
    marker: str
    opened: InferenceOpened
    closed: InferenceClosed | None
    note: str
    turns: tuple[tuple[str, str], ...]
    note_verified: bool
    was_seen: bool
    memories: tuple[BundleMember, ...]
    feedback: tuple[FeedbackGiven, ...]


class Recorded(NamedTuple):
    """What a log records about an inference, and `started`, the process that served it."""

    started: ServingStarted
    opened: InferenceOpened
    closed: InferenceClosed | None
    feedback: tuple[FeedbackGiven, ...]


def recorded(reader: LogReader, name: str) -> Recorded:
    """Raises `NotFound` for an inference that a log does not have."""
    for since, started in reader.numbered(ServingStarted):
        if name.startswith(f"inf-{started.process}-") and (opened := _one(reader, InferenceOpened, name, since)):
            of_session = ("", opened.session, opened.key)
            said = reader.of(FeedbackGiven, since=since)
            about = (e for e in said if e.inference == name or (e.inference, e.session, e.key) == of_session)
            return Recorded(started, opened, _one(reader, InferenceClosed, name, since), tuple(about))
    raise not_recorded(reader.run, name)


def not_recorded(run: str, name: str) -> NotFound:
    return NotFound(f"The run {run} has no inference {name!r:.80}: replies name theirs in X-Mage-Inference.")


def has_session(reader: LogReader, key: str, session: str) -> bool:
    """Return whether a session belongs to a key, from two columns of the log."""
    found = (each[InferenceOpened].columns for each in reader.batches({InferenceOpened: ("key", "session")}) if each)
    return any((key, session) in zip(each["key"], each["session"], strict=True) for each in found)


def left_open(reader: LogReader) -> list[str]:
    """Return the inferences that the last process opened and did not close, in order."""
    since = reader.last(ServingStarted)
    ended = set(_names(reader, InferenceClosed, since))
    return [name for name in _names(reader, InferenceOpened, since) if name not in ended]


def _names(reader: LogReader, cls: type[Inferred], since: int) -> Iterator[str]:
    for batches in reader.batches({cls: ("inference",)}, since=since):
        if cls in batches:
            yield from batches[cls].columns["inference"]


def explained(run_id: str, state: State, found: Recorded, *, preface: str) -> InferenceReport:
    """Return the report of an inference; `state` is that of its marker, `preface` the run's sentence before notes."""
    started, opened, closed, feedback = found
    note = note_of(state, opened.memories, CaseLayout(opened.layout, started.is_bare, preface))
    near = opened.similarities or (math.nan,) * len(opened.memories)  # a repeated request has none; null in JSON
    return InferenceReport(
        run_id=run_id,
        marker=str(Marker("iteration", opened.marker)),
        opened=opened,
        closed=closed,
        note=note.text,
        turns=note.turns,
        note_verified=note.sha256 == opened.note_sha256,
        was_seen=opened.treatment == "memory" and not (closed and closed.outcome == "bypassed"),
        memories=tuple(member_of(state, *each) for each in zip(opened.memories, near, strict=True)),
        feedback=feedback,
    )


def _one(reader: LogReader, cls: type[Inferred], name: str, since: int) -> Inferred | None:
    # By one column, so that nothing else of a hundred thousand inferences is read.
    for batches in reader.batches({cls: ("inference",)}, since=since):
        if cls in batches:
            names = batches[cls].columns["inference"]
            if name in names:
                seq = batches[cls].seqs[list(names).index(name)]
                return next(reader.of(cls, since=seq, until=seq))
    return None
