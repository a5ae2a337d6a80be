"""Which prompts showed each memory, as run/memories.py counts them, for all memories at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.run.memories import Quoted
from mage_es.projections.scores import Score

_Ints = NDArray[np.int64]


class _Pairs:
    """Askings by memory. They are collected as places of facts and memories, -1 where there is none."""

    def __init__(self) -> None:
        self._found = list[tuple[NDArray[np.int32], NDArray[np.int32]]]()

    def add(self, facts: _Ints, memories: _Ints) -> None:
        known = memories >= 0
        self._found.append((facts[known].astype(np.int32), memories[known].astype(np.int32)))

    def taken(self) -> tuple[_Ints, _Ints]:
        """Return what was collected, and forget it."""
        self._found.append((np.zeros(0, np.int32), np.zeros(0, np.int32)))
        facts, memories = map(np.concatenate, zip(*self._found, strict=True))
        self._found.clear()
        return facts, memories

    def sort(self, askings: _Ints, memories: _Ints, carried: NDArray[np.bool_], count: int) -> None:
        """Keep these askings of memories, in this order, but those that were never asked."""
        order = np.argsort(memories, kind="stable")
        askings, memories = askings[order], memories[order]
        # The steps of an episode show a memory again and again.
        is_same = (askings[1:] == askings[:-1]) & (memories[1:] == memories[:-1])
        kept = ~np.concatenate(([False], is_same))[: len(askings)] & ~carried[askings]
        self._askings, memories = askings[kept].astype(np.int32), memories[kept]
        self._first = np.searchsorted(memories, np.arange(count + 1))

    def of(self, memory: int) -> NDArray[np.int32]:
        return self._askings[self._first[memory] : self._first[memory + 1]]

    def sums(self, of: NDArray[Any]) -> _Ints:
        """Return for each memory the sum of what its askings have."""
        sums = np.concatenate(([0], np.cumsum(of[self._askings])))
        found: _Ints = sums[self._first[1:]] - sums[self._first[:-1]]
        return found


class ShownIn:
    """The askings whose prompts showed a memory, by its row. A plan that was never asked showed nothing."""

    def __init__(self) -> None:
        self._shown, self._coined, self._left, self._trimmed = _Pairs(), _Pairs(), _Pairs(), _Pairs()

    def show(self, facts: _Ints, memories: _Ints) -> None:
        """Note that these plans or steps, given by the places of their facts, show these memories."""
        self._shown.add(facts, memories)

    def toss(self, facts: _Ints, memories: _Ints) -> None:
        """Note that a coin let these memories in."""
        self._coined.add(facts, memories)

    def leave_out(self, facts: _Ints, memories: _Ints) -> None:
        self._left.add(facts, memories)

    def trim(self, facts: _Ints, memories: _Ints) -> None:
        """Note that these memories did not fit. Not on the coin's side: what it left out might not have fitted either,
        and no event says which."""
        self._trimmed.add(facts, memories)

    def join(
        self, places: _Ints, asking: _Ints, carried: NDArray[np.bool_], right: NDArray[np.int8], memories: int
    ) -> None:
        """Put together what was collected. `places` has where each fact is in the order of the log, `asking` the asking
        of each there; of an asking `carried` says that it was never asked, `right` its verdict, -1 without one."""
        self._right = right
        trimmed, names = self._trimmed.taken()
        trims = dict[tuple[int, int], int]()
        for place, name in sorted(zip(places[trimmed].tolist(), names.tolist(), strict=True)):
            trims[asking[place], name] = place
        for pairs in (self._shown, self._coined, self._left):
            facts, names = pairs.taken()
            at = places[facts]
            order = np.argsort(at, kind="stable")
            at, names = at[order], names[order]
            rows = asking[at]
            kept = rows >= 0
            if trims and pairs is self._shown:
                known = np.isin(rows, [row for row, _ in trims])
                for place in np.flatnonzero(known & kept).tolist():
                    kept[place] = trims.get((rows[place], names[place]), -1) < at[place]
            pairs.sort(rows[kept], names[kept], carried, memories)

    def of(self, memory: int) -> Quoted:
        shown, coined, left = (pairs.of(memory) for pairs in (self._shown, self._coined, self._left))
        return Quoted(shown.tolist(), *map(self._score, (shown, coined, left)))

    def prompts(self) -> _Ints:
        """Return how many prompts showed each memory."""
        return self._shown.sums(np.ones(len(self._right), np.int64))

    def right(self) -> _Ints:
        """Return how many of these were answered right."""
        return self._shown.sums(self._right == 1)

    def _score(self, askings: NDArray[np.int32]) -> Score:
        judged = self._right[askings]
        return Score(int((judged == 1).sum()), int((judged >= 0).sum()))
