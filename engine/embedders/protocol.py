"""What an embedder is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Texts in, unit vectors out: deterministic, the same on every call."""

    @property
    def name(self) -> str:
        """Return the full spec; it goes into the run's first event."""
        ...

    @property
    def dimension(self) -> int:
        """Return how many numbers a vector has."""
        ...

    @property
    def sha256(self) -> str:
        """Return a hash that changes with what the embedder does: of algorithm, weights, or vectors of fixed texts."""
        ...

    @property
    def strategy_floor(self) -> float:
        """Return the least cosine at which a type strategy fits; 0 where that is to be measured on the questions."""
        ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape [len(texts), dimension], float32; a text without words gives zeros."""
        ...


def to_bytes(vector: NDArray[Any]) -> bytes:
    """Return a vector as little-endian float32 bytes, the form that events carry."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()
