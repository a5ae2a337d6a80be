"""Records as the body of a frame: an array of rows, each its header and the event's own map.

Rules
    - What is written has been decoded again before: an event that a reader could not read, or that a column could not
      hold, is refused while nothing has happened yet, and an append returns the events as readers will see them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, Any, Union

import msgspec

from mage_es.events.envelope import Draft, Record, event_id
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.storable import require_storable
from mage_es.events.upcasting import Registry
from mage_es.events.vocabulary import EVENT_TYPES, Event, Phase, tag_of
from mage_es.events.wal import MAX_BODY, Frame

_INT32_MAX = (1 << 31) - 1
_INT64_MAX = (1 << 63) - 1
_Count = Annotated[int, msgspec.Meta(ge=0, le=_INT64_MAX)]


class Row(msgspec.Struct, array_like=True, frozen=True):
    """One record in a frame. Its sequence number is its place; `type` and `version` say how to read the payload."""

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


class _Checked(msgspec.Struct, array_like=True, frozen=True):
    event_id: bytes
    ts_us: _Count
    iteration: Annotated[int, msgspec.Meta(ge=-1, le=_INT32_MAX)]
    phase: Phase
    ordinal: _Count
    causation: _Count
    correlation: str
    type: str
    version: int
    payload: Union[tuple(EVENT_TYPES.values())]  # type: ignore[valid-type]  # noqa: UP007 (built from the vocabulary)


class Batch(msgspec.Struct, frozen=True):
    """Drafts ready to be written: the frame body and the events as it will give them back."""

    body: bytes
    events: list[Event]


_encoder = msgspec.msgpack.Encoder()
_rows = msgspec.msgpack.Decoder(list[Row])
_checked = msgspec.msgpack.Decoder(list[_Checked])


def encode(drafts: Sequence[Draft], ids: Sequence[bytes], ts_us: int) -> Batch:
    """Return the frame body for `drafts`. Raises `UsageError` for one that could not be read back from every file."""
    rows = [
        (id_, ts_us, d.iteration, d.phase, d.ordinal, d.causation, d.correlation, tag_of(e := d.event), e.version, e)
        for id_, d in zip(ids, drafts, strict=True)
    ]
    try:
        body = _encoder.encode(rows)
        events = [row.payload for row in _checked.decode(body)]
        for event in events:
            require_storable(event)
    except (msgspec.MsgspecError, TypeError, OverflowError, UnicodeEncodeError) as error:
        kinds = ", ".join(sorted({type(d.event).__name__ for d in drafts}))
        raise UsageError(f"an event cannot be recorded as it is: {error} (types in this append: {kinds}).") from error
    if len(body) > MAX_BODY:
        raise UsageError(f"{len(drafts)} events make {len(body)} bytes, one append takes {MAX_BODY}: split it.")
    return Batch(body, events)


def body_of(records: Iterable[Record]) -> bytes:
    """Return the frame body that the records of one commit were written in, if it was this release that wrote it."""
    return _encoder.encode(
        [
            (r.event_id, r.ts_us, r.iteration, r.phase, r.ordinal, r.causation, r.correlation, tag_of(e), e.version, e)
            for r in records
            for e in (r.event,)
        ]
    )


def decode(frame: Frame) -> list[Row]:
    """Return the rows of a frame, payloads not yet decoded. Raises `LogDamaged`."""
    try:
        rows = _rows.decode(frame.body)
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"the frame of events {frame.first} to {frame.last} holds no records: {error}.") from error
    if len(rows) != frame.events:
        raise LogDamaged(f"the frame of events {frame.first} to {frame.last} holds {len(rows)} records.")
    return rows


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
    return Record(
        seq=seq,
        event_id=row.event_id,
        ts_us=row.ts_us,
        run=run,
        iteration=row.iteration,
        phase=row.phase,
        ordinal=row.ordinal,
        causation=row.causation,
        correlation=row.correlation,
        commit=commit,
        event=event,
    )


def record_of(draft: Draft, event: Event, *, seq: int, id_: bytes, ts_us: int, run: str, commit: int) -> Record:
    """Return the record that a draft became, `event` being its event as stored."""
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
        event=event,
    )


def ids_of(run: str, drafts: Sequence[Draft]) -> list[bytes]:
    """Return the identity of each draft in a run. Raises `UsageError` if two of them have the same."""
    ids = [event_id(run, draft.fact_id) for draft in drafts]
    if len(set(ids)) < len(ids):
        twin = next(draft for id_, draft in zip(ids, drafts, strict=True) if ids.count(id_) > 1)
        raise UsageError(
            f"two events of one append are the same fact ({tag_of(twin.event)} about {twin.event.subject} in iteration "
            f"{twin.iteration}, {twin.phase}, ordinal {twin.ordinal}): give them different ordinals."
        )
    return ids
