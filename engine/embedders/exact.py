"""Cosines that are the same on every machine and in every batch.

A dot product in floating point depends on the order of its sums, which differs between BLAS builds and with
the number of rows. Rounded to a grid of 1/1024, the vectors are integers whose products and sums stay below
2**24, where float32 is exact in any order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.seams.embedder import Vectors

GRID = 1024
UNIT = GRID * GRID  # what `cosines` returns for a cosine of one


def on_grid(vectors: Vectors) -> Vectors:
    """Return unit vectors, shape [n, dim], as whole numbers of 1/1024 (still float32)."""
    rounded: Vectors = np.rint(vectors * np.float32(GRID)).astype(np.float32)
    return rounded


def cosines(left: Vectors, right: Vectors) -> NDArray[np.int64]:
    """Return all cosines of two sets of grid vectors, shape [len(left), len(right)], in units of 1/UNIT."""
    products: NDArray[np.int64] = (left @ right.T).astype(np.int64)
    return products
