"""An inference explained from the log: what was put in, what became of it and what was said of it."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from mage_es.engine.rules.notes import note_of
from mage_es.engine.rules.setting import Setting
from mage_es.events.digests import sha256_text
from mage_es.events.errors import NotFound
from mage_es.events.log import LogReader
from mage_es.events.log.markers import Marker
from mage_es.events.vocabulary import FeedbackGiven, InferenceClosed, InferenceOpened, ServingStarted
from mage_es.projections.fold import State

Inferred = TypeVar("Inferred", InferenceOpened, InferenceClosed)


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """A memory of a note, with where it is from."""

    memory_id: str
    outcome: str
    task_type: str
    origin: str
    question: str


class InferenceReport(msgspec.Struct, frozen=True, kw_only=True):
    """An inference as it is recorded. `note` is what it was chosen to see, rendered again from the state at its marker,
    and `note_verified` whether that has the recorded hash; `was_seen` whether it was put in."""

    run_id: str
    marker: str
    opened: InferenceOpened
    closed: InferenceClosed | None
    note: str
    note_verified: bool
    was_seen: bool
    memories: tuple[Remembered, ...]
    feedback: tuple[FeedbackGiven, ...]


def recorded(reader: LogReader, name: str) -> tuple[InferenceOpened, InferenceClosed | None, tuple[FeedbackGiven, ...]]:
    """Return what a log has of an inference. Raises `NotFound`."""
    since = _began(reader, name)
    opened = _one(reader, InferenceOpened, name, since)
    if opened is None:
        raise _unknown(reader, name)
    closed = _one(reader, InferenceClosed, name, since)
    of_session = ("", opened.session, opened.key)
    said = reader.of(FeedbackGiven, since=since)
    about = (e for e in said if e.inference == name or (e.inference, e.session, e.key) == of_session)
    return opened, closed, tuple(about)


def explained(
    run_id: str,
    setting: Setting,
    state: State,
    opened: InferenceOpened,
    closed: InferenceClosed | None,
    feedback: tuple[FeedbackGiven, ...],
) -> InferenceReport:
    """Return the report of an inference; `state` is that of its marker."""
    note = note_of(setting, state, opened.memories).text
    rows = map(state.memory.row, opened.memories)
    return InferenceReport(
        run_id=run_id,
        marker=str(Marker("iteration", opened.marker)),
        opened=opened,
        closed=closed,
        note=note,
        note_verified=(sha256_text(note) if note else "") == opened.note_sha256,
        was_seen=opened.treatment == "memory" and not (closed and closed.outcome == "bypassed"),
        memories=tuple(
            Remembered(
                memory_id=row.memory_id,
                outcome=f"{row.outcome} ({row.kind})" if row.kind else row.outcome,
                task_type=row.task_type,
                origin=f"iter-{row.iteration}/{row.phase}, question {row.question_id}",
                question=row.question,
            )
            for row in rows
        ),
        feedback=feedback,
    )


def _began(reader: LogReader, name: str) -> int:
    """Return the event with which the process began that an inference is of. Raises `NotFound`."""
    parts = name.split("-")
    for seq, started in reader.events({ServingStarted: ("process",)}):
        assert isinstance(started, ServingStarted)
        if len(parts) == 3 and parts[1] == str(started.process):
            return seq
    raise _unknown(reader, name)


def _unknown(reader: LogReader, name: str) -> NotFound:
    return NotFound(f"The run {reader.run} has no inference {name!r:.80}: replies name theirs in X-Mage-Inference.")


def _one(reader: LogReader, cls: type[Inferred], name: str, since: int) -> Inferred | None:
    # By one column: of a hundred thousand inferences nothing else is read.
    for batches in reader.batches({cls: ("inference",)}, since=since):
        if cls in batches:
            names = batches[cls].columns["inference"]
            if name in names:
                seq = batches[cls].seqs[list(names).index(name)]
                return next(reader.of(cls, since=seq, until=seq))
    return None
