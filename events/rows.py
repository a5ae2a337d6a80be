"""Records as the body of a frame: what an append writes, and what is read of it.

    DRAFTS      [time, {type: version}, [draft, ...]]       versions other than 1; a draft is its fields in order
    ROWS        [row, ...]                                  as earlier releases wrote: identity, time, version in each

Rules
    - What is written comes back: an event that a reader could not read, or that a column could not hold, is refused
      while nothing has happened yet, and an append returns the events as readers will see them.
    - Identities are not written. They follow from the coordinates, and are computed where somebody wants them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, Union

import msgspec

from mage_es.events import wal
from mage_es.events.envelope import Coordinates, Draft, Record, event_id
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.storable import INT32_MAX, coordinates_of, require_storable
from mage_es.events.upcasting import Registry
from mage_es.events.vocabulary import EVENT_TYPES, Event, Phase, SegmentSealed, tag_of
from mage_es.events.wal import MAX_BODY, Frame

_Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class Row(msgspec.Struct, array_like=True, frozen=True):
    """One record in a frame. Its sequence number is its place; `type` and `version` say how to read the payload.

    `event_id` is empty where it is not written, because it follows from the rest.
    """

    event_id: bytes
    ts_us: int
    iteration: int
    phase: Phase
    ordinal: int
    causation: int
    correlation: str
    type: str
    version: int
    payload: msgspec.Raw


class _Written(msgspec.Struct, array_like=True, frozen=True):
    """A `Draft` as found in a body."""

    payload: msgspec.Raw
    iteration: int
    phase: Phase
    ordinal: int
    causation: int
    correlation: str


class _Checked(Draft, frozen=True, kw_only=True, array_like=True):
    """A draft of the present vocabulary, decoded in one go."""

    event: Union[tuple(EVENT_TYPES.values())]  # type: ignore[valid-type]  # noqa: UP007 (built from the vocabulary)
    iteration: Annotated[int, msgspec.Meta(ge=-1, le=INT32_MAX)]
    phase: Phase
    ordinal: _Count
    causation: _Count
    correlation: str


class _Tagged(msgspec.Struct):
    type: str


_VERSIONS = {tag: cls.version for tag, cls in EVENT_TYPES.items() if cls.version != 1}
_encoder = msgspec.msgpack.Encoder()
_checked = msgspec.msgpack.Decoder(list[_Checked])
_present = msgspec.msgpack.Decoder(tuple[int, dict[str, int], list[_Checked]])
_written = msgspec.msgpack.Decoder(tuple[int, dict[str, int], list[_Written]])
_rows = msgspec.msgpack.Decoder(list[Row])
_tagged = msgspec.msgpack.Decoder(_Tagged)


# ------------------------------------------------------------ writing


def storable(drafts: Sequence[Draft]) -> tuple[list[Draft], list[Coordinates]]:
    """Return drafts as they will be read, and their coordinates.

    Raises `UsageError` for one that could not be read back from every file, or if two of them are the same fact.
    """
    exact = list(drafts)
    found = coordinates_of(exact)
    if found is None:
        exact = _read_back(exact)
        found = [draft.coordinates for draft in exact]
    if len(set(found)) < len(found):
        twin = next(coordinates for coordinates in found if found.count(coordinates) > 1)
        iteration, phase, subject, tag, ordinal = twin
        raise UsageError(
            f"two events of one append are the same fact ({tag} about {subject} in iteration {iteration}, {phase}, "
            f"ordinal {ordinal}): give them different ordinals."
        )
    return exact, found


def body_of(drafts: Sequence[Draft], ts_us: int) -> bytes:
    """Return the frame body of drafts that are `storable`.

    Raises `UsageError` for a text that is no Unicode, an integer below those of 64 bits, or too much for one frame.
    """
    try:
        body = _encoder.encode((ts_us, _VERSIONS, drafts))
    except _REFUSALS as error:
        raise _refusal(error, drafts) from error
    if len(body) > MAX_BODY:
        raise UsageError(f"{len(drafts)} events make {len(body)} bytes, one append takes {MAX_BODY}: split it.")
    return body


def _read_back(drafts: Sequence[Draft]) -> list[Draft]:
    """Return drafts as a reader would see them. Raises `UsageError`."""
    if any(isinstance(draft.event, SegmentSealed) for draft in drafts):
        raise UsageError("what was sealed is recorded by the log itself, and by nobody else.")
    try:
        read: list[Draft] = [*_checked.decode(_encoder.encode(drafts))]
        for draft in read:
            require_storable(draft.event)
    except _REFUSALS as error:
        raise _refusal(error, drafts) from error
    return read


_REFUSALS = (msgspec.MsgspecError, TypeError, OverflowError, UnicodeEncodeError)


def _refusal(error: Exception, drafts: Sequence[Draft]) -> UsageError:
    kinds = ", ".join(sorted({type(draft.event).__name__ for draft in drafts}))
    return UsageError(f"an event cannot be recorded as it is: {error} (types in this append: {kinds}).")


def bodies_of(records: Iterable[Record], codec: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield first sequence number, count and frame body of each commit of `records`, as if written by `codec`.

    They are those that were written if it was a release with this vocabulary that wrote them.
    """
    for first, commit in groupby(records, key=attrgetter("commit")):
        batch = list(commit)
        yield first, len(batch), _encoder.encode(_draft_body(batch) if codec == wal.DRAFTS else _row_body(batch))


def _draft_body(batch: Sequence[Record]) -> Any:
    drafts = [(r.event, r.iteration, r.phase, r.ordinal, r.causation, r.correlation) for r in batch]
    times = {r.ts_us for r in batch}
    return batch[0].ts_us if len(times) == 1 else sorted(times), _VERSIONS, drafts  # a commit has but one


def _row_body(batch: Sequence[Record]) -> Any:
    return [
        (r.event_id, r.ts_us, r.iteration, r.phase, r.ordinal, r.causation, r.correlation, tag_of(e), e.version, e)
        for r in batch
        for e in (r.event,)
    ]


# ------------------------------------------------------------ reading


def decode(frame: Frame) -> list[Row]:
    """Return the rows of a frame, payloads not yet decoded. Raises `LogDamaged`."""
    try:
        rows = _rows_of_drafts(frame.body) if frame.codec == wal.DRAFTS else _rows.decode(frame.body)
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"the frame of events {frame.first} to {frame.last} holds no records: {error}.") from error
    if len(rows) != frame.events:
        raise LogDamaged(f"the frame of events {frame.first} to {frame.last} holds {len(rows)} records.")
    return rows


def _rows_of_drafts(body: bytes) -> list[Row]:
    ts_us, versions, drafts = _written.decode(body)
    return [
        Row(b"", ts_us, d.iteration, d.phase, d.ordinal, d.causation, d.correlation, tag, version, d.payload)
        for d in drafts
        for tag in (_tagged.decode(d.payload).type,)
        for version in (versions.get(tag, 1),)
    ]


class RowReader:
    """Turns rows into events and records of the present vocabulary."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._decoders: dict[str, msgspec.msgpack.Decoder[Any]] = {}

    def event(self, row: Row) -> Event:
        """Return the row's event. Raises `UnknownEvent`, or `LogDamaged` if the payload is not what its type says."""
        cls = self._registry.types.get(row.type)
        try:
            if cls is None or row.version != cls.version:
                payload = msgspec.msgpack.decode(row.payload, type=dict[str, Any])
                payload.pop("type", None)
                return self._registry.upcast(row.type, row.version, payload)
            decoder = self._decoders.get(row.type) or self._decoders.setdefault(row.type, msgspec.msgpack.Decoder(cls))
            event: Event = decoder.decode(row.payload)
        except msgspec.MsgspecError as error:
            raise LogDamaged(f"an event {row.type} in version {row.version} cannot be read: {error}.") from error
        return event

    def commit(self, frame: Frame) -> tuple[int, list[Draft]]:
        """Return the time of a frame, and what was appended in it. Raises as `event` does."""
        if frame.codec == wal.DRAFTS and self._registry.types is EVENT_TYPES:
            try:
                ts_us, versions, drafts = _present.decode(frame.body)
            except msgspec.MsgspecError:
                pass  # it is of another release, or no records at all: row by row it will be seen
            else:
                if versions == _VERSIONS and len(drafts) == frame.events:
                    return ts_us, [*drafts]
        rows = decode(frame)
        return rows[0].ts_us, [_draft(row, self.event(row)) for row in rows]

    def events(self, frame: Frame, tags: Collection[str]) -> Iterator[tuple[int, Event]]:
        """Yield the frame's events of some types with their sequence numbers."""
        for seq, row in enumerate(decode(frame), frame.first):
            if row.type in tags:
                yield seq, self.event(row)

    def records(self, frame: Frame, run: str, tags: Collection[str] | None = None) -> Iterator[Record]:
        """Yield the frame's records, all or those of some types."""
        for seq, row in enumerate(decode(frame), frame.first):
            if tags is None or row.type in tags:
                yield _record(seq, row, self.event(row), run, frame.first)


def _record(seq: int, row: Row, event: Event, run: str, commit: int) -> Record:
    draft = _draft(row, event)
    id_ = row.event_id or event_id(run, draft.fact_id)
    return record_of(draft, seq=seq, id_=id_, ts_us=row.ts_us, run=run, commit=commit)


def _draft(row: Row, event: Event) -> Draft:
    return Draft(
        event=event,
        iteration=row.iteration,
        phase=row.phase,
        ordinal=row.ordinal,
        causation=row.causation,
        correlation=row.correlation,
    )


def record_of(draft: Draft, *, seq: int, id_: bytes, ts_us: int, run: str, commit: int) -> Record:
    """Return the record that a draft became."""
    return Record(
        seq=seq,
        event_id=id_,
        ts_us=ts_us,
        run=run,
        iteration=draft.iteration,
        phase=draft.phase,
        ordinal=draft.ordinal,
        causation=draft.causation,
        correlation=draft.correlation,
        commit=commit,
        event=draft.event,
    )
