"""Records in plain values, as people and other programs read them: numbers, texts, lists and maps.

Identities are hexadecimal, other bytes (vectors too) base64, times ISO 8601 in UTC.
"""

from datetime import UTC, datetime, timedelta

import msgspec

from mage_es.events.facts.envelope import Record
from mage_es.events.facts.event import tag_of

HEADER = {
    "seq": "Place in the log, counted from 1 without gaps; the only order.",
    "event_id": "Identity of the fact in this run: hash of run, iteration, phase, stream, type and ordinal.",
    "type": "Type of the event.",
    "sv": "Schema version of the event's fields.",
    "run": "The run, or run/exam, whose log this is.",
    "iteration": "Iteration in which it was recorded; -1 is the opening.",
    "phase": "Phase in which it was recorded.",
    "ordinal": "Tells apart facts of one type about one subject in one phase.",
    "stream": "What the event is about, such as question/q17.",
    "causation_seq": "seq of the event that led to this one; 0 for none.",
    "correlation": "Question or other matter that it belongs to; may be empty.",
    "ts": "When it was recorded, UTC, microseconds; information only.",
    "commit": "First seq of the atomic batch that it was committed in.",
}
"""The header columns and what they mean, in the order of `header`, which is that of sealed segments."""

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def header(record: Record) -> tuple[object, ...]:
    """Return the header's values as they are stored: identity in 16 bytes, time in microseconds since 1970 (UTC)."""
    event = record.event
    return (
        record.seq,
        record.event_id,
        tag_of(event),
        event.version,
        record.run,
        record.iteration,
        record.phase,
        record.ordinal,
        event.subject,
        record.causation,
        record.correlation,
        record.ts_us,
        record.commit,
    )


def plain_header(record: Record) -> dict[str, object]:
    return dict(zip(HEADER, header(record), strict=True)) | {
        "event_id": record.event_id.hex(),
        "ts": timestamp(record.ts_us),
    }


def plain_event(record: Record) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(record.event, enc_hook=str)
    del fields["type"]  # the header has it
    return fields


def plain(record: Record) -> dict[str, object]:
    return {**plain_header(record), "event": plain_event(record)}


def timestamp(ts_us: int) -> str:
    """Return microseconds since 1970 as `2026-01-31T12:00:00.000001Z`."""
    moment = (_BEGINNING + timedelta(microseconds=ts_us)).replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds") + "Z"
