"""Logs written anew, sound in every byte, with one thing in them that must not be."""

import shutil
from collections.abc import Callable, Iterable
from itertools import chain, groupby, islice
from pathlib import Path

import msgspec

from mage_es.engine.run.directory import clock
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Draft, Event, IterationClosed, Record, SegmentSealed
from mage_es.projections.fold import State

Change = Callable[[Record], Event | Iterable[Event]]
"""What stands in the place of a record: an event, or several."""


def forged(source: Path, target: Path, change: Change, *, clock: Callable[[], int] = clock) -> dict[int, int]:
    """Write a log with its events changed; return the new sequence number of each old one's first event."""
    reader = LogReader(source)
    places: dict[int, int] = {}
    if reader.past:
        reader.past.reader.link(target / "past" / "log")
    with Log.create(target, run=reader.run, clock=clock, past=reader.goes_on_from) as log:
        for _, together in groupby(reader.records(since=1), key=lambda record: record.commit):
            drafts = {record.seq: _drafts(record, change) for record in together}
            seqs = iter(log.append(list(chain.from_iterable(drafts.values()))).seqs)
            places |= {seq: min(islice(seqs, len(made)), default=0) for seq, made in drafts.items()}
    for beside in ("questions", "golds"):
        if (source / beside).exists():
            shutil.copytree(source / beside, target / beside)
    return places


def _drafts(record: Record, change: Change) -> list[Draft]:
    if isinstance(record.event, SegmentSealed):
        return []
    found = change(record)
    return [
        Draft(
            event=event,
            iteration=record.iteration,
            phase=record.phase,
            ordinal=record.ordinal + 10_000 * extra,
            correlation=record.correlation,
        )
        for extra, event in enumerate([found] if isinstance(found, Event) else found)
    ]


def replace(log: Path, folder: Path, change: Change, *, clock: Callable[[], int] = clock) -> Path:
    """Write a log anew in its place, with its events changed, at the times of another clock."""
    forged(log, folder / "forged", change, clock=clock)
    shutil.rmtree(log)
    (folder / "forged").rename(log)
    return log


def refolded(change: Change) -> Change:
    """Return a change that also gives each closed iteration the digests of the changed events before it."""
    state = State()

    def whole(record: Record) -> Iterable[Event]:
        found = change(record)
        for event in [found] if isinstance(found, Event) else found:
            if isinstance(event, IterationClosed):
                event = msgspec.structs.replace(event, digests=state.digests())
            state.seq += 1
            state.apply(event)
            yield event

    return whole


def after(sort: type[Event], *events: Event, which: Callable[[Event], bool] = lambda event: True) -> Change:
    """Return a change that puts events behind the first of a sort."""
    waiting = list(events)

    def change(record: Record) -> Iterable[Event]:
        if isinstance(record.event, sort) and which(record.event):
            added, waiting[:] = list(waiting), []
            return [record.event, *added]
        return [record.event]

    return change


def instead(
    sort: type[Event], make: Callable[[Event], Event], which: Callable[[Event], bool] = lambda event: True
) -> Change:
    """Return a change that puts another event in the place of the first of a sort."""
    done: list[int] = []

    def change(record: Record) -> Event:
        if isinstance(record.event, sort) and which(record.event) and not done:
            done.append(record.seq)
            return make(record.event)
        return record.event

    return change
