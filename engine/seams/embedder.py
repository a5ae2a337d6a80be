"""The seam of an embedder: texts in, unit vectors out."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""A unit vector of shape [dimension]."""
Vectors = NDArray[np.float32]
"""Unit vectors of shape [count, dimension]."""


class Embedder(Protocol):
    """Texts in, unit vectors out: deterministic, the same on every call."""

    @property
    def name(self) -> str:
        """The full spec; it goes into the run's first event."""

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""

    @property
    def sha256(self) -> str:
        """A hash that changes with the embedder's vectors: of its algorithm, its weights, or vectors of fixed texts."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape [len(texts), dimension], float32; a text without words gives zeros."""


def to_bytes(vector: NDArray[Any]) -> bytes:
    """Return a vector as little-endian float32 bytes, the form that events carry."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def from_bytes(recorded: bytes) -> Vector:
    return np.frombuffer(recorded, dtype="<f4")
