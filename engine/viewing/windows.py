"""The records of a log by ranges: a few at a time, or in passes over the whole log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from mage_es.events.log import LogReader
from mage_es.events.vocabulary import Record

NEAR = 40_000
"""How many events a pass goes back or skips rather than start again: more than a phase has."""


class Windows:
    """`whole`: ranges are asked for one after another, from the first event to the last, as an export does.

    Reading a few events of a segment costs nearly as much as reading all, so a pass reads each segment once and keeps
    the last ones.
    """

    def __init__(self, reader: LogReader, *, whole: bool) -> None:
        self.reader, self._whole = reader, whole
        self._held: list[Record] = []
        self._rest: Iterator[Record] = iter(())

    def records(self, first: int, last: int) -> Sequence[Record]:
        """Return the events from `first` to `last`, both included. Raises what `LogReader.records` raises."""
        if not self._whole:
            return list(self.reader.records(since=first, until=last))
        if not self._held or not self._held[0].seq <= first <= self._held[-1].seq + NEAR:
            self._held, self._rest = [], self.reader.records(since=first)
        begin = self._held[0].seq if self._held else first
        self._held.extend(islice(self._rest, max(0, last + 1 - begin - len(self._held))))
        found = self._held[first - begin : last + 1 - begin]
        if len(self._held) > 2 * NEAR:
            del self._held[:-NEAR]
        return found
