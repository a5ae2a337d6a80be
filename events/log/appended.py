"""What an append returns: the records of its facts, made on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mage_es.events.facts import Draft, Event, Record, event_id
from mage_es.events.wal.bodies import record_of


class Appended:
    """The records of some facts, in the order given to the log; `seqs` and `events` avoid the cost of identities."""

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
        """Take drafts as written, and the records that already existed by their sequence numbers. `ts_us` and `commit`
        belong to the drafts that were new."""
        self.seqs = seqs
        self._drafts = drafts
        self._known = known
        self._run = run
        self._ts_us = ts_us
        self._commit = commit

    @property
    def events(self) -> list[Event]:
        if not self._known:
            return [draft.event for draft in self._drafts]
        return [record.event for record in self]

    def __len__(self) -> int:
        return len(self.seqs)

    def __iter__(self) -> Iterator[Record]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, place: int) -> Record:
        draft, seq = self._drafts[place], self.seqs[place]
        if seq in self._known:
            return self._known[seq]
        # Two SHA-256 hashes per event, which most callers never look at.
        id_ = event_id(self._run, draft.fact_id)
        return record_of(draft, seq=seq, id_=id_, ts_us=self._ts_us, run=self._run, commit=self._commit)
