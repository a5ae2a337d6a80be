"""A log that is only a list of events, for folds in tests."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from mage_es.events.digests import sha256_text
from mage_es.events.disk import Head
from mage_es.events.segments import Batch, Batches
from mage_es.events.vocabulary import Event


class ListSource:
    """A list as a log; like sealed columns, it returns None for fields that a reader did not ask for."""

    keys = None

    def __init__(self, events: Sequence[Event], *, run: str = "run-1", stretch: int = 50) -> None:
        self.run, self.stretch = run, stretch
        self._events = list(events)

    @property
    def head(self) -> Head:
        return Head(len(self._events), chain_at(self._events, len(self._events)))

    def events(
        self, reads: Mapping[type[Event], Collection[str]], *, since: int | None = None, until: int | None = None
    ) -> Iterator[tuple[int, Event]]:
        first = since or 1
        for seq, event in enumerate(self._events[first - 1 : until], start=first):
            if type(event) in reads:
                yield seq, only(event, reads[type(event)])

    def batches(
        self, reads: Mapping[type[Event], tuple[str, ...]], *, since: int | None = None, until: int | None = None
    ) -> Iterator[Batches]:
        pairs = list(self.events(reads, since=since, until=until))
        for start in range(0, len(pairs), self.stretch):
            stretch = pairs[start : start + self.stretch]
            by_type: dict[type[Event], list[tuple[int, Event]]] = {}
            for seq, event in stretch:
                by_type.setdefault(type(event), []).append((seq, event))
            yield {
                cls: Batch.of(cls, [seq for seq, _ in found], [event for _, event in found], reads[cls])
                for cls, found in by_type.items()
            }

    def last(self, cls: type[Event], *, since: int | None = None, until: int | None = None) -> int:
        return max((seq for seq, _ in self.events({cls: ()}, since=since, until=until)), default=0)


def chain_at(events: Sequence[Event], seq: int) -> str:
    """Return the list's substitute for the hash chain after event `seq`."""
    return sha256_text(repr(events[:seq]))


def only(event: Event, fields: Collection[str]) -> Event:
    values = {name: getattr(event, name) if name in fields else None for name in event.__struct_fields__}
    return type(event)(**values)
