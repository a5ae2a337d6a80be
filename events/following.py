"""Following a log: its records as they become durable, until its run is over.

Rules
    - Nothing is shown that a loss of power could still take away: only what `LogReader` shows.
    - A run is over once its end is recorded and nobody will write the last record of its log any more: it was closed,
      or the process that wrote it is gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from mage_es.events.batches import Reads
from mage_es.events.envelope import Record
from mage_es.events.filesystem import FileSystem, LocalFileSystem
from mage_es.events.layout import Layout
from mage_es.events.lock import is_running
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import ExamClosed, RunFinished, SegmentSealed

_ENDS: Reads = {RunFinished: RunFinished.__struct_fields__, ExamClosed: ExamClosed.__struct_fields__}
_HOLDER = re.compile(rb"pid (\d{1,10}), boot (\S*)")
_LOCK_SIZE = 256


def follow(path: Path, *, since: int, wait: Callable[[], None], fs: FileSystem | None = None) -> Iterator[Record]:
    """Yield the records from `since` on as they become durable; `wait` is called whenever there is no new one.

    Ends when the run is over; `wait` may raise to end it sooner. Raises `UsageError` (not a log), `LogDamaged`.
    """
    fs, layout = fs or LocalFileSystem(), Layout(path)
    reader, searched, has_end = LogReader(path, fs), 0, False
    while True:
        has_end = has_end or any(True for _ in reader.events(_ENDS, since=searched + 1))
        searched = reader.head.seq
        is_over = has_end and (_is_sealed(reader) or _is_abandoned(fs, layout))
        yield from reader.records(since=since)
        if is_over:
            return
        since = max(since, reader.head.seq + 1)
        wait()
        reader.refresh()


def _is_sealed(reader: LogReader) -> bool:
    """Return whether the newest record is that of the sealing with which `Log.close` ends."""
    newest = next(reader.records(since=reader.head.seq))
    return isinstance(newest.event, SegmentSealed)


def _is_abandoned(fs: FileSystem, layout: Layout) -> bool:
    """Return whether the process that last locked the log is gone, or was of an earlier start of this machine."""
    found = _HOLDER.search(fs.read(layout.lock, 0, _LOCK_SIZE)) if fs.exists(layout.lock) else None
    if found is None or not fs.boot_id():
        return False
    if found[2].decode() != fs.boot_id():
        return True
    return not is_running(int(found[1]))
