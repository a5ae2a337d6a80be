"""Following a log: its records as they become durable, until its end is recorded and it can no longer grow."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from mage_es.events.disk.filesystem import FileSystem, LocalFileSystem
from mage_es.events.disk.layout import Layout
from mage_es.events.disk.lock import is_running
from mage_es.events.facts import Record, SegmentSealed, Vocabulary
from mage_es.events.log.reader import LogReader
from mage_es.events.segments.batches import Reads

_HOLDER = re.compile(rb"pid (\d{1,10}), boot (\S*)")
_LOCK_SIZE = 256


def follow(
    path: Path,
    *,
    since: int,
    wait: Callable[[], None],
    fs: FileSystem | None = None,
    vocabulary: Vocabulary | None = None,
) -> Iterator[Record]:
    """Yield the records from `since` on as they become durable; `wait` is called whenever there are no new ones.

    Ends when an event that ends the log is recorded; `wait` may raise to end it sooner. Raises `UsageError` (not a
    log), `LogDamaged`.
    """
    fs, layout = fs or LocalFileSystem(), Layout(path)
    reader, searched, has_end = LogReader(path, fs, vocabulary=vocabulary), 0, False
    ends: Reads = {cls: () for cls in reader.vocabulary.ends}
    while True:
        # Only new events are searched, so following a long run stays cheap.
        has_end = has_end or any(True for _ in reader.events(ends, since=searched + 1))
        searched = reader.head.seq
        is_over = has_end and (_is_sealed(reader) or _is_abandoned(fs, layout))
        yield from reader.records(since=since)
        if is_over:
            return
        since = max(since, reader.head.seq + 1)
        wait()
        reader.refresh()


def _is_sealed(reader: LogReader) -> bool:
    # `Log.close` ends with a seal, so a log that ends otherwise may still grow.
    newest = next(reader.records(since=reader.head.seq))
    return isinstance(newest.event, SegmentSealed)


def _is_abandoned(fs: FileSystem, layout: Layout) -> bool:
    found = _HOLDER.search(fs.read(layout.lock, 0, _LOCK_SIZE)) if fs.exists(layout.lock) else None
    if found is None or not fs.boot_id():
        return False
    # The machine has restarted since: that process is gone, even if its pid is in use again.
    if found[2].decode() != fs.boot_id():
        return True
    return not is_running(int(found[1]))
