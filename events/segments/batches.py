"""Events in batches: those of one type in one stretch of a log, in order, as columns and, on demand, as structs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mage_es.events.facts import Event, Record

if TYPE_CHECKING:  # pyarrow is slow to import, and projections import this module only for its types
    import numpy as np
    from numpy.typing import NDArray

    from mage_es.events.segments.columns import Column, Groups

    Headers = Mapping[str, NDArray[np.uint64] | NDArray[np.uint8]]
    """Columns of the header by name: `causation_seq` [n] and `event_id` [n, 16], as uint8."""

Reads = Mapping[type[Event], tuple[str, ...]]
"""Event types, each with the wanted fields."""


class Columns(Mapping[str, Sequence[Any]]):
    """The values of the wanted fields, one column each: some as Python values, the others in their stored form."""

    def __init__(
        self, cls: type[Event], fields: Sequence[str], values: Mapping[str, Sequence[Any]], stored: Mapping[str, Column]
    ) -> None:
        self._cls = cls
        self._fields = fields
        self._values = dict(values)
        self._stored = dict(stored)

    def __getitem__(self, name: str) -> Sequence[Any]:
        """Return the values of a field. Raises `KeyError` for one that was not requested."""
        # Converted once, since several folds may read the same batch.
        if name not in self._values:
            self._values[name] = self._stored[name].values()
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def column(self, name: str) -> Column:
        from mage_es.events.facts.shapes import shapes_of
        from mage_es.events.segments import columns

        if name not in self._stored:
            shape = shapes_of(self._cls)[name]
            self._stored[name] = columns.Column(columns.to_arrow(self._values[name], shape), shape)
        return self._stored[name]

    def at(self, rows: Sequence[int]) -> Columns:
        """Return the columns of some rows."""
        values = {name: [column[row] for row in rows] for name, column in self._values.items()}
        stored = {name: self._stored[name].rows(rows) for name in self._stored.keys() - values}
        return Columns(self._cls, self._fields, values, stored)

    def grouped(self, *names: str) -> Groups:
        """Return the rows grouped by equal values in these fields, at least one."""
        from mage_es.events.segments.columns import Groups

        return Groups([self.column(name) for name in names])


class Batch:
    """Events of one type: their sequence numbers, and one column for each wanted field."""

    def __init__(
        self, cls: type[Event], seqs: Column | list[int], columns: Columns, by: int = 0, headers: Headers | None = None
    ) -> None:
        """`by` is added to the sequence numbers; `headers` are the header's columns that were asked for."""
        self.columns = columns
        self.headers = headers or {}
        self._cls = cls
        self._seqs = seqs
        self._by = by

    @classmethod
    def of(
        cls,
        kind: type[Event],
        seqs: list[int],
        events: Sequence[Event],
        fields: Sequence[str],
        headers: Headers | None = None,
    ) -> Batch:
        values = {name: list(map(operator.attrgetter(name), events)) for name in fields}
        return cls(kind, seqs, Columns(kind, fields, values, {}), headers=headers)

    def __len__(self) -> int:
        return len(self._seqs)

    @cached_property
    def seqs(self) -> list[int]:
        # On demand: most folds never ask for them.
        seqs = self._seqs if isinstance(self._seqs, list) else self._seqs.values()
        return [seq + self._by for seq in seqs] if self._by else seqs

    def moved(self, by: int) -> Batch:
        """Return these events under other sequence numbers."""
        return Batch(self._cls, self._seqs, self.columns, self._by + by)

    def among(self, field: str, values: Collection[Any]) -> Batch:
        """Return the events in which a field has one of some values."""
        rows = [row for row, value in enumerate(self.columns[field]) if value in values]
        if len(rows) == len(self):
            return self
        return Batch(self._cls, [self.seqs[row] for row in rows], self.columns.at(rows))

    @cached_property
    def events(self) -> list[Event]:
        """The events; unwanted fields are None."""
        from mage_es.events.segments.columns import event_maker

        make: Callable[..., Event] = event_maker(self._cls, tuple(self.columns))
        # Without wanted fields there is nothing to zip, but there is still one event per row.
        return list(map(make, *self.columns.values())) if self.columns else [make() for _ in range(len(self))]


Batches = Mapping[type[Event], Batch]
"""A stretch of a log: a batch of each wanted type that occurs in it."""


def batches_of(records: Iterable[Record], reads: Reads, headers: Sequence[str]) -> Batches:
    """Return records as one stretch: a batch of each type, with its wanted fields and the named columns of the
    header."""
    by_type: dict[type[Event], list[Record]] = {}
    for record in records:
        by_type.setdefault(type(record.event), []).append(record)
    return {
        cls: Batch.of(
            cls,
            [record.seq for record in found],
            [record.event for record in found],
            reads.get(cls, ()),
            {name: _header(name, found) for name in headers},
        )
        for cls, found in by_type.items()
    }


def _header(name: str, records: Sequence[Record]) -> NDArray[np.uint64] | NDArray[np.uint8]:
    import numpy as np

    if name == "event_id":
        return np.frombuffer(b"".join(record.event_id for record in records), np.uint8).reshape(len(records), -1)
    return np.array([record.causation for record in records], np.uint64)
