"""A growing contiguous matrix of vectors with its parallel columns, in order of birth.

A list of vectors would have to be stacked for every search; a matrix that doubles when it is full is one block of
memory, and a search is one product. It is filled when first looked at, or when many vectors wait.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from mage_es.events.vocabulary import Phase

T = TypeVar("T")
Birth = tuple[int, int, int]
"""(iteration, place of the phase in the iteration, ordinal): ordered as the run proceeds."""

# The order of the phases is that in which the vocabulary lists them.
_PHASE_RANK = {phase: rank for rank, phase in enumerate(get_args(Phase))}
_FIRST_CAPACITY = 8
_WAITING = 4096
"""How many vectors may wait to be put into a matrix."""


def birth_of(iteration: int, phase: Phase, ordinal: int) -> Birth:
    return iteration, _PHASE_RANK[phase], ordinal


class Slice(NamedTuple):
    """Parallel sequences over n memories: `vectors` is float32 [n, dimension], contiguous and read-only."""

    ids: list[str]
    vectors: NDArray[np.float32]
    question_ids: list[str]
    kinds: list[str]
    births: list[Birth]
    computed: dict[str, Any]
    """Values that readers have computed from these memories, under names of their choice; they are dropped at the next
    change."""

    @classmethod
    def empty(cls) -> Slice:
        return cls([], np.empty((0, 0), dtype=np.float32), [], [], [], {})


def computed_of(slices: Sequence[Slice], name: str, make: Callable[[], T]) -> T:
    """Return a value computed from one or more slices together; it is computed again after any of them has changed."""
    # Kept with the first of the slices, as long as no other has changed.
    first, *others = slices
    known = [rows.computed for rows in others]
    made_of, found = first.computed.get(name, (None, None))
    if made_of is None or len(made_of) != len(known) or any(a is not b for a, b in zip(made_of, known, strict=True)):
        found = make()
        first.computed[name] = known, found
    made: T = found
    return made


class VectorSlice:
    """The memories of one index and task type; vectors wait as bytes until the matrix is looked at."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._question_ids: list[str] = []
        self._kinds: list[str] = []
        self._births: list[Birth] = []
        self._waiting: list[bytes] = []
        self._matrix: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self._bytes = 0
        self._computed: dict[str, Any] = {}

    def view(self) -> Slice:
        """Return all memories, without copying what was there before."""
        self._fill()
        # A view, not a copy, so a search costs no memory; read-only, since every caller shares it.
        vectors = self._matrix[: len(self._ids)]
        vectors.flags.writeable = False
        return Slice(self._ids, vectors, self._question_ids, self._kinds, self._births, self._computed)

    def add(self, memory_id: str, embedding: bytes, *, question_id: str, kind: str, birth: Birth) -> None:
        """Put a memory at its place by birth. Raises `ValueError` for a vector of another dimension."""
        if self._ids and len(embedding) != self._bytes:
            raise ValueError(f"the vector of memory {memory_id} has {len(embedding)} bytes, others {self._bytes}")
        self._bytes, self._computed = len(embedding), {}
        self._waiting.append(embedding)
        # Nearly always the end. An earlier birth comes when answers of one iteration are recorded out of order, or when
        # a memory is released from quarantine.
        if not self._ids or (self._births[-1], self._ids[-1]) <= (birth, memory_id):
            self._ids.append(memory_id)
            self._question_ids.append(question_id)
            self._kinds.append(kind)
            self._births.append(birth)
            if len(self._waiting) == _WAITING:
                self._fill()
            return
        place, size = bisect_left(list(zip(self._births, self._ids, strict=True)), (birth, memory_id)), len(self._ids)
        self._ids.insert(place, memory_id)
        self._question_ids.insert(place, question_id)
        self._kinds.insert(place, kind)
        self._births.insert(place, birth)
        self._fill()
        self._matrix[place : size + 1] = np.roll(self._matrix[place : size + 1], 1, axis=0)

    def remove(self, memory_id: str) -> None:
        place, self._computed = self._ids.index(memory_id), {}
        self._fill()
        last = len(self._ids) - 1
        self._matrix[place:last] = self._matrix[place + 1 : last + 1]
        for column in (self._ids, self._question_ids, self._kinds, self._births):
            del column[place]

    def _fill(self) -> None:
        waiting, size = self._waiting, len(self._ids)
        if not waiting:
            return
        matrix, filled = self._matrix, size - len(waiting)
        if size > len(matrix):
            # Doubling keeps the cost of growing linear, as in any dynamic array.
            matrix = np.empty((max(_FIRST_CAPACITY, size, 2 * filled), self._bytes // 4), dtype=np.float32)
            if filled:
                matrix[:filled] = self._matrix[:filled]
        matrix[filled:size] = np.frombuffer(b"".join(waiting), dtype="<f4").reshape(len(waiting), -1)
        # The matrix first: threads that look at the same time may each fill one, but none finds it half full.
        self._matrix = matrix
        self._waiting = []
