"""What an embedder is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Texts in, unit vectors out: deterministic, the same on every call."""

    name: str
    dimension: int
    sha256: str
    """Hash of the weights, or of the algorithm's name and version where there are none."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape [len(texts), dimension], float32; a text without words gives zeros."""
        ...


def to_bytes(vector: NDArray[Any]) -> bytes:
    """Return a vector as little-endian float32 bytes, the form that events carry."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()
