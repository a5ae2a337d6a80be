"""Events by the batch: those of one type in one stretch of a log, in order, as columns and, if wanted, as structs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from mage_es.events.vocabulary import Event

Reads = Mapping[type[Event], tuple[str, ...]]
"""Event types, and of each the fields that are wanted."""

Columns = Mapping[str, Sequence[Any]]
"""The values of the wanted fields, each as long as the batch."""


class Batch:
    """Events of one type: their sequence numbers, and one column for each wanted field."""

    def __init__(self, cls: type[Event], seqs: list[int], columns: Columns) -> None:
        self.seqs = seqs
        self.columns = columns
        self._cls = cls

    @classmethod
    def of(cls, kind: type[Event], seqs: list[int], events: Sequence[Event], fields: Sequence[str]) -> Batch:
        """Return the batch of whole events, of which only `fields` are wanted."""
        return cls(kind, seqs, {name: list(map(operator.attrgetter(name), events)) for name in fields})

    @cached_property
    def events(self) -> list[Event]:
        """The events; fields that are not wanted are None."""
        from mage_es.events.columns import event_maker  # with pyarrow, which not every importer of this needs

        make: Callable[..., Event] = event_maker(self._cls, tuple(self.columns))
        return list(map(make, *self.columns.values())) if self.columns else [make() for _ in self.seqs]


Batches = Mapping[type[Event], Batch]
"""A stretch of a log: a batch of each wanted type that occurs in it."""
