"""A cache of vectors by text, for embedders that are slow.

Rules
    - While a text is cached it keeps its vector, even if a server would return another one now.
    - Threads may share it; `compute` must bear being called by several at once.
    - A blank text is never sent to the embedder: its vector is zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.seams.embedder import Vectors

MOST = 16_384  # most texts in the cache, the latest ones; 25 MB for vectors of 384 numbers


class VectorCache:
    """Unit vectors by text. `compute` returns the raw vectors, shape [n, dimension], of texts that are not cached."""

    def __init__(self, compute: Callable[[Sequence[str]], NDArray[np.float64]], dimension: int) -> None:
        self._compute, self._dimension = compute, dimension
        self._known: dict[str, Vectors] = {}
        self._changing = Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        asked = [text for text in dict.fromkeys(texts) if text.strip()]
        with self._changing:
            found = {text: self._known[text] for text in asked if text in self._known}
        if new := [text for text in asked if text not in found]:
            fresh = dict(zip(new, unit(self._compute(new)), strict=True))
            with self._changing:
                # What another thread cached meanwhile stays.
                found |= {text: self._known.setdefault(text, vector) for text, vector in fresh.items()}
                for text in list(self._known)[: max(0, len(self._known) - MOST)]:
                    del self._known[text]
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            if text in found:
                vectors[place] = found[text]
        return vectors


def unit(vectors: NDArray[np.float64]) -> Vectors:
    """Return vectors, shape [n, dimension], at length one; one of zeros stays so."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    scaled: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0).astype(np.float32)
    return scaled
