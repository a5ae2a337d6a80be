"""The stores that the log is measured against, each with the same facts: append a batch, say what it takes on disk.

Rules
    - `prepare` is not measured: it makes of the drafts whatever the store's own users would hand to it.
    - Every store keeps the payload, and number, identity, time, iteration, phase and type, as columns where it has any.
"""

import os
import sqlite3
import sys
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from eventsourcing.domain import DomainEvent
from eventsourcing.persistence import DatetimeAsISO, JSONTranscoder, Mapper, UUIDAsHex
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from mage_es.events import wal
from mage_es.events.facts.envelope import event_id
from mage_es.events.log import Log
from mage_es.events.vocabulary import EVENT_TYPES, Draft, Event, tag_of
from mage_es.events.wal.bodies import body_of

RUN = "wordmath-s0-001"
NOW = 1_790_000_000_000_000


def ids_of(drafts: Sequence[Draft]) -> list[bytes]:
    """Return the identity of each draft."""
    return [event_id(RUN, draft.fact_id) for draft in drafts]


class Store(Protocol):
    """Something that keeps events. Batches are given in order, each once."""

    def __init__(self, folder: Path) -> None: ...

    def prepare(self, drafts: Sequence[Draft]) -> Any:
        """Return a batch in the form that the store takes."""
        ...

    def append(self, batch: Any) -> None:
        """Store a batch; on return it is as safe as the store makes it."""
        ...

    def close(self) -> None:
        """Finish."""
        ...


class Ours(Store):
    """The log, with all that `append` does: identities, checks, records."""

    def __init__(self, folder: Path) -> None:
        self._log = Log.create(folder / "log", run=RUN, clock=lambda: NOW)

    def prepare(self, drafts: Sequence[Draft]) -> Any:
        return drafts

    def append(self, batch: Any) -> None:
        self._log.append(batch)

    def close(self) -> None:
        self._log.close()


class Raw(Store):
    """One write and one fdatasync of the very bytes that the log writes: the limit of any durable append."""

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder / "raw", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._first, self._chain = 1, bytes(32)

    def prepare(self, drafts: Sequence[Draft]) -> Any:
        body = body_of(drafts, NOW)
        frame, self._chain = wal.encode(body, first=self._first, count=len(drafts), previous=self._chain)
        self._first += len(drafts)
        return frame

    def append(self, batch: Any) -> None:
        os.write(self._fd, batch)
        os.fdatasync(self._fd)

    def close(self) -> None:
        os.close(self._fd)


class Sqlite(Store):
    """A table in SQLite, WAL mode, synchronous=FULL; the payload is msgpack. Nothing makes an append idempotent."""

    _identity = "BLOB"

    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(folder / "log.sqlite", isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.execute(
            f"CREATE TABLE events (seq INTEGER PRIMARY KEY, event_id {self._identity}, ts INT, iteration INT,"
            " phase TEXT, ordinal INT, type TEXT, sv INT, payload BLOB)"
        )
        self._encoder = msgspec.msgpack.Encoder()

    def prepare(self, drafts: Sequence[Draft]) -> Any:
        return drafts, ids_of(drafts)

    def append(self, batch: Any) -> None:
        drafts, ids = batch
        encode_ = self._encoder.encode
        self.connection.execute("BEGIN")
        self.connection.executemany(
            "INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (id_, NOW, d.iteration, d.phase, d.ordinal, tag_of(d.event), d.event.version, encode_(d.event))
                for d, id_ in zip(drafts, ids, strict=True)
            ],
        )
        self.connection.execute("COMMIT")

    def close(self) -> None:
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.connection.close()


class SqliteIdempotent(Sqlite):
    """The same with what makes a retry a no-op: identities are computed and unique."""

    _identity = "BLOB UNIQUE"

    def prepare(self, drafts: Sequence[Draft]) -> Any:
        return drafts

    def append(self, batch: Any) -> None:
        super().append((batch, ids_of(batch)))


class Eventsourcing(Store):
    """The eventsourcing library as its manual sets it up: mapper, JSON transcoder, SQLite application recorder."""

    def __init__(self, folder: Path) -> None:
        transcoder = JSONTranscoder()
        transcoder.register(UUIDAsHex())
        transcoder.register(DatetimeAsISO())
        self.mapper: Mapper[uuid.UUID] = Mapper(transcoder)
        self.recorder = SQLiteApplicationRecorder(SQLiteDatastore(str(folder / "events.sqlite")))
        self.recorder.create_table()
        self._version = 0
        self._id = uuid.uuid5(uuid.NAMESPACE_URL, RUN)

    def prepare(self, drafts: Sequence[Draft]) -> Any:
        return [self._domain_event(draft) for draft in drafts]

    def append(self, batch: Any) -> None:
        self.recorder.insert_events([self.mapper.to_stored_event(event) for event in batch])

    def close(self) -> None:
        self.recorder.datastore.close()

    def replay(self) -> Iterator[Event]:
        """Yield every event in order, as this package's event."""
        start: int | None = 1
        while start is not None:
            notifications = self.recorder.select_notifications(start=start, limit=5000)
            for notification in notifications:
                event = self.mapper.to_domain_event(notification)
                yield msgspec.convert(vars(event), _FACTS[type(event)])
            start = notifications[-1].id + 1 if notifications else None

    def _domain_event(self, draft: Draft) -> DomainEvent:
        self._version += 1
        made: Any = _DOMAIN[type(draft.event)]
        event: DomainEvent = made(
            originator_id=self._id,
            originator_version=self._version,
            timestamp=datetime.fromtimestamp(NOW / 1e6, UTC),
            phase_=draft.phase,
            iteration_=draft.iteration,
            ordinal_=draft.ordinal,
            **msgspec.to_builtins({name: getattr(draft.event, name) for name in draft.event.__struct_fields__}),
        )
        return event


class _Arrow(Store):
    def __init__(self, folder: Path) -> None:
        self._seq = 0
        self._encoder = msgspec.json.Encoder()

    def prepare(self, drafts: Sequence[Draft]) -> Any:
        return drafts, ids_of(drafts)

    def _table(self, batch: Any) -> pa.Table:
        drafts, ids = batch
        first, self._seq = self._seq, self._seq + len(drafts)
        return pa.table(
            {
                "seq": pa.array(range(first, self._seq), pa.int64()),
                "event_id": pa.array(ids, pa.binary()),
                "ts": pa.array([NOW] * len(drafts), pa.int64()),
                "iteration": pa.array([d.iteration for d in drafts], pa.int32()),
                "phase": pa.array([d.phase for d in drafts]),
                "type": pa.array([tag_of(d.event) for d in drafts]),
                "payload": pa.array([self._encoder.encode(d.event).decode() for d in drafts]),
            }
        )

    def close(self) -> None:
        pass


class DeltaRs(_Arrow):
    """delta-rs, the table's handle kept. It does not sync."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._path = str(folder / "delta")
        self._handle: DeltaTable | None = None

    def append(self, batch: Any) -> None:
        write_deltalake(self._handle or self._path, self._table(batch), mode="append")
        self._handle = self._handle or DeltaTable(self._path)


class LanceDb(_Arrow):
    """LanceDB, the table's handle kept. It does not sync."""

    def __init__(self, folder: Path) -> None:
        import lancedb

        super().__init__(folder)
        self._connection: Any = lancedb.connect(str(folder / "lance"))
        self._handle: Any = None

    def append(self, batch: Any) -> None:
        if self._handle is None:
            self._handle = self._connection.create_table("events", self._table(batch))
        else:
            self._handle.add(self._table(batch))


def _domain_class(cls: type[Event]) -> type[DomainEvent]:
    fields = dict.fromkeys(("phase_", "iteration_", "ordinal_", *cls.__struct_fields__), "Any")
    metaclass: Any = type(DomainEvent)
    made: type[DomainEvent] = metaclass(
        f"Recorded{cls.__name__}", (DomainEvent,), {"__annotations__": fields, "__module__": __name__}
    )
    setattr(sys.modules[__name__], made.__name__, made)  # the library finds classes by their module
    return made


_DOMAIN = {cls: _domain_class(cls) for cls in EVENT_TYPES.values()}
_FACTS: dict[Any, type[Event]] = {made: cls for cls, made in _DOMAIN.items()}
