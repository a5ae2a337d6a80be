"""Records in plain values, as people and other programs read them: numbers, texts, lists and maps.

Identities are hexadecimal, other bytes (vectors too) base64, times ISO 8601 in UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from mage_es.events.envelope import Record
from mage_es.events.vocabulary import tag_of

HEADER = (
    "seq",
    "event_id",
    "type",
    "sv",
    "run",
    "iteration",
    "phase",
    "ordinal",
    "stream",
    "causation_seq",
    "correlation",
    "ts",
    "commit",
)
"""The header columns, in the order of `header`; the same as those of sealed segments."""

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
    """Return the header by column name, in plain values."""
    return dict(zip(HEADER, header(record), strict=True)) | {
        "event_id": record.event_id.hex(),
        "ts": timestamp(record.ts_us),
    }


def plain_event(record: Record) -> dict[str, object]:
    """Return the event's own fields in plain values."""
    fields: dict[str, object] = msgspec.to_builtins(record.event)
    del fields["type"]  # the header has it
    return fields


def plain(record: Record) -> dict[str, object]:
    """Return the header columns, and under `event` the event's own fields."""
    return {**plain_header(record), "event": plain_event(record)}


def timestamp(ts_us: int) -> str:
    """Return microseconds since 1970 as `2026-01-31T12:00:00.000001Z`."""
    moment = (_BEGINNING + timedelta(microseconds=ts_us)).replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds") + "Z"
