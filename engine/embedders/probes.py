"""A fingerprint of what an embedder does: on which side of fixed hyperplanes the vectors of fixed texts lie.

A hash of the vectors themselves would change with their last bit, which differs between machines and, on a busy
server, between two calls. The sides of random hyperplanes (Charikar, 2002) change with the angle: another model, or
another training of the same one, moves many; noise of 1e-5 moves one of the 512 in about one of 250 fingerprints.
"""

from __future__ import annotations

import hashlib

import numpy as np

from mage_es.engine.seams.embedder import Vectors

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
"""How far they lie off the origin: vectors of small integers would lie right on planes that went through it."""


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
