"""What embedders share: a check of vectors, a cache by text, a fingerprint of an embedder's behaviour, and cosines
that are the same everywhere.

Rules
    - While a text is cached it keeps its vector, even if a server would return another one now. Threads may share the
      cache; `compute` must be thread-safe. A blank text is never sent to the embedder: its vector is zeros.
    - The fingerprint says on which side of fixed hyperplanes the vectors of fixed texts lie. A hash of the vectors
      would change with their last bit, which differs between machines and, on a busy server, between two calls. The
      sides of random hyperplanes (Charikar, 2002) change with the angle: another model, or another training of the same
      one, changes many sides. Noise of 1e-5 changes one of the 512 sides in about one fingerprint of 250.
    - A dot product in floating point depends on the order of its sums, which differs between BLAS builds and with the
      number of rows. Rounded to a grid of 1/1024, vectors are integers whose products and sums stay below 2**24, where
      float32 is exact in any order.
"""

import hashlib
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.seams.embedder import Embedder, Vectors
from mage_es.engine.seams.metering import Metered
from mage_es.events.errors import PrerequisiteError

GRID = 1024
UNIT = GRID * GRID  # what `cosines` returns for a cosine of one
MOST = 16_384  # most texts in the cache, the latest ones; 25 MB for vectors of 384 numbers
PROBES = (
    "Ana packs 4 boxes with 6 jars each and gives 5 jars away. How many jars are left?",
    "A train leaves at nine and arrives three hours later.",
    "The revenue rose from 1,204 to 1,318 million dollars.",
    "Which river flows through the capital of Hungary?",
    "Open the drawer, take the key and go to the north.",
    "def total(prices): return sum(prices)",
    "Two films were directed by the same person.",
    "été, naïve, 数学",
)
_SIDES = 64  # hyperplanes for each probe
_OFFSET = 0.0101
"""The hyperplanes' distance from the origin: vectors of small integers would lie on planes through it."""


def problem_of(vectors: Any, count: int, dimension: int | None) -> str:
    """Return what is wrong with an embedder's vectors of `count` texts, with the number of the first text concerned; ""
    if each has `dimension` finite numbers (None: as many as the first)."""
    if isinstance(vectors, np.ndarray) and vectors.shape == (count, dimension) and np.isfinite(vectors).all():
        return "" if dimension else "the embeddings are empty"
    try:
        rows = [np.asarray(row, dtype=np.float64) for row in vectors]
    except (TypeError, ValueError, OverflowError):
        return "an embedding is no list of numbers"
    if len(rows) != count:
        return f"{len(rows)} embeddings came for {count} texts"
    for number, row in enumerate(rows, start=1):
        which = f"the embedding of text {number} of {count}"
        if not row.size:
            return f"{which} is empty"
        if row.shape != (wanted := rows[0].size if dimension is None else dimension,):
            return f"{which} has {row.size} numbers and not {wanted}"
        if not np.isfinite(row).all():
            return f"{which} holds numbers that are not finite (NaN or infinity)"
    return ""


class CheckedEmbedder:
    """An embedder of another package, or given from Python, whose vectors are checked before they are used."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dimension, self.sha256 = embedder.name, embedder.dimension, embedder.sha256
        self._embedder = embedder
        if isinstance(embedder, Metered):
            self.meter = embedder.meter

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Raises `PrerequisiteError` for vectors that are empty, not finite or of another length."""
        vectors = self._embedder.encode(texts)
        if problem := problem_of(vectors, len(texts), self.dimension):
            raise PrerequisiteError(
                f"The embedder {self.name} is broken: {problem}. Its vectors were not recorded: correct it, or choose "
                "another with --embedder."
            )
        return vectors


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
                # Vectors that another thread has cached meanwhile stay.
                found |= {text: self._known.setdefault(text, vector) for text, vector in fresh.items()}
                for text in list(self._known)[: max(0, len(self._known) - MOST)]:
                    del self._known[text]
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            if text in found:
                vectors[place] = found[text]
        return vectors


def unit(vectors: NDArray[np.float64]) -> Vectors:
    """Return vectors, shape [n, dimension], scaled to length one; a vector of zeros stays zero."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    scaled: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0).astype(np.float32)
    return scaled


def sketch(vectors: Vectors) -> str:
    """Return the fingerprint of the probes' vectors, shape [len(PROBES), dimension], in hex.

    [beyond the paper, identity of embedders] The sides of hyperplanes on which fixed texts lie: noise does not move
    them, another model does.
    """
    dimension = vectors.shape[1]
    sides = []
    for place, vector in enumerate(vectors):
        bits = hashlib.shake_256(f"{place}".encode()).digest(_SIDES * dimension // 8 + 1)
        signs = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))[: _SIDES * dimension].reshape(_SIDES, dimension)
        sides.append((2.0 * signs - 1.0) @ vector.astype(np.float64) > _OFFSET)
    return np.packbits(np.concatenate(sides)).tobytes().hex()


def on_grid(vectors: Vectors) -> Vectors:
    """Return unit vectors, shape [n, dim], as whole numbers of 1/1024 (still float32)."""
    rounded: Vectors = np.rint(vectors * np.float32(GRID)).astype(np.float32)
    return rounded


def cosines(left: Vectors, right: Vectors) -> NDArray[np.int64]:
    """Return all cosines of two sets of grid vectors, shape [len(left), len(right)], in units of 1/UNIT."""
    products: NDArray[np.int64] = (left @ right.T).astype(np.int64)
    return products
