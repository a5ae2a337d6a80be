"""What an append returns: the records of its facts, made only when somebody looks at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

from mage_es.events.envelope import Draft, Record, event_id
from mage_es.events.rows import record_of
from mage_es.events.vocabulary import Event


class Appended(Sequence[Record]):
    """The records of some facts in the order in which they were given to the log.

    `seqs` are their sequence numbers and `events` the events as readers see them: enough for most callers, and without
    the cost of identities.
    """

    def __init__(
        self,
        drafts: Sequence[Draft],
        seqs: Sequence[int],
        known: Mapping[int, Record],
        *,
        run: str,
        ts_us: int = 0,
        commit: int = 0,
    ) -> None:
        """Take drafts as they were written, and the records there were already by their sequence numbers.

        `ts_us` and `commit` are those of the drafts that are not among them.
        """
        self.seqs = seqs
        self._drafts = drafts
        self._known = known
        self._run = run
        self._ts_us = ts_us
        self._commit = commit

    @property
    def events(self) -> list[Event]:
        """The events, those that were recorded before as they were recorded then."""
        if not self._known:
            return [draft.event for draft in self._drafts]
        return [record.event for record in self]

    def __len__(self) -> int:
        return len(self.seqs)

    @overload
    def __getitem__(self, place: int) -> Record: ...

    @overload
    def __getitem__(self, place: slice) -> Appended: ...

    def __getitem__(self, place: int | slice) -> Record | Appended:
        if isinstance(place, slice):
            drafts, seqs = self._drafts[place], self.seqs[place]
            return Appended(drafts, seqs, self._known, run=self._run, ts_us=self._ts_us, commit=self._commit)
        draft, seq = self._drafts[place], self.seqs[place]
        if seq in self._known:
            return self._known[seq]
        id_ = event_id(self._run, draft.fact_id)
        return record_of(draft, seq=seq, id_=id_, ts_us=self._ts_us, run=self._run, commit=self._commit)
