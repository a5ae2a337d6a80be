"""Records as the body of a frame: what an append writes, and what is read back.

    [time, {type: version}, [draft, ...]]       versions other than 1; a draft is its fields in order

Rules
    - What is written can be read back. An event that a reader could not read, or that fits no column, is refused before
      anything is written; an append returns the events as readers will see them.
    - Identities are not written: they follow from the coordinates, and are computed where they are needed.
"""

import functools
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, NamedTuple, Union

import msgspec

from mage_es.events.digests import token_of
from mage_es.events.disk.documents import UNREADABLE
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.facts import Coordinates, Draft, Event, Phase, Record, SegmentSealed, Vocabulary, event_id
from mage_es.events.wal.frames import MAX_BODY, Frame
from mage_es.events.wal.storable import INT32_MAX, Checks, coordinates_of, require_storable

_Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class _Written(msgspec.Struct, array_like=True, frozen=True):
    """A `Draft` in a body, with its payload not yet decoded."""

    payload: msgspec.Raw
    iteration: int
    phase: Phase
    ordinal: int
    causation: int
    correlation: str


class Row(NamedTuple):
    """One record of a frame; `type` and `version` say how to read its payload."""

    type: str
    version: int
    ts_us: int
    draft: _Written


class _Tagged(msgspec.Struct):
    type: str


_encoder = msgspec.msgpack.Encoder(enc_hook=token_of)
_written = msgspec.msgpack.Decoder(tuple[int, dict[str, int], list[_Written]])
_tagged = msgspec.msgpack.Decoder(_Tagged)


class _Codec:
    """Decodes and checks the events of a vocabulary: `drafts` a list of them, `body` a frame's body."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        types = tuple(vocabulary.types.values())

        class Checked(Draft, frozen=True, kw_only=True, array_like=True):
            # Decodes and checks in one go: two passes would cost every append.
            event: Union[types]  # type: ignore[valid-type]  # noqa: UP007 (built from the vocabulary)
            iteration: Annotated[int, msgspec.Meta(ge=-1, le=INT32_MAX)]
            phase: Phase
            ordinal: _Count
            causation: _Count
            correlation: str

        self.checks = Checks(vocabulary)
        self.drafts = msgspec.msgpack.Decoder(list[Checked])
        self.body = msgspec.msgpack.Decoder(tuple[int, dict[str, int], list[Checked]])


_codec_of = functools.cache(_Codec)


def storable(drafts: Sequence[Draft], vocabulary: Vocabulary) -> tuple[list[Draft], list[Coordinates]]:
    """Return drafts as they will be read, and their coordinates.

    Raises `UsageError` for one that could not be read back from every file, or if two of them are the same fact.
    """
    exact = list(drafts)
    # The fast check, compiled per type; only what it rejects is decoded to see what a reader would get.
    found = coordinates_of(exact, _codec_of(vocabulary).checks)
    if found is None:
        exact = _read_back(exact, vocabulary)
        found = [draft.coordinates for draft in exact]
    # The same identity twice in one commit: a retry could not tell which of the two it repeats.
    if len(set(found)) < len(found):
        twin = next(coordinates for coordinates in found if found.count(coordinates) > 1)
        iteration, phase, subject, tag, ordinal = twin
        raise UsageError(
            f"two events of one append are the same fact ({tag} about {subject} in iteration {iteration}, {phase}, "
            f"ordinal {ordinal}): give them different ordinals."
        )
    return exact, found


def body_of(drafts: Sequence[Draft], ts_us: int, vocabulary: Vocabulary) -> bytes:
    """Return the frame body of `storable` drafts. Raises `UsageError` for text that is not Unicode, or for too many
    bytes."""
    try:
        body = _encoder.encode((ts_us, vocabulary.versions, drafts))
    except _REFUSALS as error:
        raise _refusal(error, drafts) from error
    if len(body) > MAX_BODY:
        raise UsageError(
            f"{len(drafts)} events make {len(body)} bytes, and one append takes at most {MAX_BODY}: split it."
        )
    return body


def _read_back(drafts: Sequence[Draft], vocabulary: Vocabulary) -> list[Draft]:
    # A forged seal would let a later reader believe another segment.
    if any(isinstance(draft.event, SegmentSealed) for draft in drafts):
        raise UsageError("only the log itself records sealed segments: leave SegmentSealed out.")
    try:
        read: list[Draft] = [*_codec_of(vocabulary).drafts.decode(_encoder.encode(drafts))]
        for draft in read:
            require_storable(draft.event)
    except _REFUSALS as error:
        raise _refusal(error, drafts) from error
    return read


_REFUSALS = (msgspec.MsgspecError, TypeError, OverflowError, UnicodeEncodeError)


def _refusal(error: Exception, drafts: Sequence[Draft]) -> UsageError:
    kinds = ", ".join(sorted({type(draft.event).__name__ for draft in drafts}))
    return UsageError(f"an event cannot be recorded: {error} (types in this append: {kinds}).")


def bodies_of(records: Iterable[Record], vocabulary: Vocabulary) -> Iterator[tuple[int, int, bytes]]:
    """Yield first sequence number, count and frame body of each commit of `records`, as this release writes them."""
    for first, commit in groupby(records, key=attrgetter("commit")):
        batch = list(commit)
        drafts = [(r.event, r.iteration, r.phase, r.ordinal, r.causation, r.correlation) for r in batch]
        times = {r.ts_us for r in batch}
        # A commit has one time. Records that disagree were changed, and their body must not pass for the original.
        ts_us = batch[0].ts_us if len(times) == 1 else sorted(times)
        yield first, len(batch), _encoder.encode((ts_us, vocabulary.versions, drafts))


def rows_of(frame: Frame) -> list[Row]:
    """Return the rows of a frame, with payloads not yet decoded. Raises `LogDamaged`."""
    try:
        ts_us, versions, drafts = _written.decode(frame.body)
        tags = [_tagged.decode(draft.payload).type for draft in drafts]
    except UNREADABLE as error:
        raise LogDamaged(f"the frame of events {frame.first} to {frame.last} holds no records: {error}.") from error
    if len(drafts) != frame.events:
        raise LogDamaged(f"the frame of events {frame.first} to {frame.last} holds {len(drafts)} records.")
    return [Row(tag, versions.get(tag, 1), ts_us, draft) for tag, draft in zip(tags, drafts, strict=True)]


class FrameReader:
    """Decodes frames into a vocabulary's events and records."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._decoders: dict[str, msgspec.msgpack.Decoder[Any]] = {}

    def event(self, row: Row) -> Event:
        """Return the row's event. Raises `UnknownEvent`, or `LogDamaged` if the payload is not what its type says."""
        cls = self._vocabulary.types.get(row.type)
        try:
            # The slow path, through builtins, for what another release wrote.
            if cls is None or row.version != cls.version:
                payload = msgspec.msgpack.decode(row.draft.payload, type=dict[str, Any])
                payload.pop("type", None)
                return self._vocabulary.upcast(row.type, row.version, payload)
            decoder = self._decoders.get(row.type) or self._decoders.setdefault(row.type, msgspec.msgpack.Decoder(cls))
            event: Event = decoder.decode(row.draft.payload)
        except UNREADABLE as error:
            raise LogDamaged(f"an event {row.type} in version {row.version} cannot be read: {error}.") from error
        return event

    def commit(self, frame: Frame) -> tuple[int, list[Draft]]:
        """Return the time of a frame, and what was appended in it. Raises what `event` raises."""
        try:
            ts_us, versions, drafts = _codec_of(self._vocabulary).body.decode(frame.body)
        except UNREADABLE:
            pass  # another release wrote it, or it holds no records: the slow path below finds out which
        else:
            if versions == self._vocabulary.versions and len(drafts) == frame.events:
                return ts_us, [*drafts]
        rows = rows_of(frame)
        return rows[0].ts_us, [_draft(row, self.event(row)) for row in rows]

    def events(self, frame: Frame, tags: Collection[str]) -> Iterator[tuple[int, Event]]:
        for seq, row in enumerate(rows_of(frame), frame.first):
            if row.type in tags:
                yield seq, self.event(row)

    def records(self, frame: Frame, run: str, tags: Collection[str] | None = None) -> Iterator[Record]:
        for seq, row in enumerate(rows_of(frame), frame.first):
            if tags is None or row.type in tags:
                draft = _draft(row, self.event(row))
                id_, about = event_id(run, draft.fact_id), msgspec.structs.asdict(draft)
                yield Record(seq=seq, event_id=id_, ts_us=row.ts_us, run=run, commit=frame.first, **about)


def _draft(row: Row, event: Event) -> Draft:
    written = row.draft
    return Draft(
        event=event,
        iteration=written.iteration,
        phase=written.phase,
        ordinal=written.ordinal,
        causation=written.causation,
        correlation=written.correlation,
    )
