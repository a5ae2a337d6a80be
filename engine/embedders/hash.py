"""The embedder `hash`: words, word pairs and letter triples hashed into 128 signed buckets.

It needs no weights and no network, and it knows no meaning: two texts are near when they share words and
parts of words. A number carries no topic, so every run of digits counts as the same token.

Rules
    - The same text gives the same bytes on every machine: all sums are over integers held exactly, and the
      only roundings are one square root, one division and one cast, each correctly rounded.

Why not a library's feature hasher: those hash one feature at a time, an order of magnitude slower than
one cached row of buckets for each word.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np

from mage_es.engine.seams.embedder import Vectors
from mage_es.events.digests import sha256_text

DIMENSION = 128
ALGORITHM = "hash/1: crc32, words x4, word pairs x3, letter triples x1, 1 + ln(count), 128 signed buckets"

_WORD, _PAIR, _TRIPLE = 4, 3, 1
"""How much a feature of each kind adds to its bucket: a whole word says more than three of its letters."""
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*")
_LONGEST_WORD = 24
_CACHED_WORDS = 65_536
_SCALE = 64
_COUNT_WEIGHTS = tuple(round(_SCALE * (1 + math.log(count))) if count else 0 for count in range(256))


class HashEmbedder:
    name = "hash"
    dimension = DIMENSION
    sha256 = sha256_text(ALGORITHM)

    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}
        self._prefixes: dict[str, tuple[bytes, int]] = {}

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape [len(texts), 128], float32; a text without words gives zeros."""
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for place, text in enumerate(texts):
            words = tokens(text)
            if words:
                vectors[place] = self._encode(words)
        return vectors

    def _encode(self, words: list[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        counts = Counter(words)
        if len(self._rows) > _CACHED_WORDS:
            self._rows.clear()
            self._prefixes.clear()
        for word in [word for word in counts if word not in self._rows]:
            self._rows[word] = _row(word)
            self._prefixes[word] = (word.encode(), crc32(word.encode() + b" "))
        rows = np.frombuffer(b"".join([self._rows[word] for word in counts]), dtype=np.int8)
        weights = np.array([_COUNT_WEIGHTS[min(count, 255)] for count in counts.values()], dtype=np.float64)
        sums = weights @ rows.reshape(-1, DIMENSION).astype(np.float64)
        parts = [self._prefixes[word] for word in words]
        pairs = Counter([crc32(second[0], first[1]) for first, second in pairwise(parts)])
        for code, count in pairs.items():
            weight = _PAIR * _COUNT_WEIGHTS[min(count, 255)]
            sums[code % DIMENSION] += weight if code & 0x8000_0000 else -weight
        length = math.sqrt(float(sums @ sums))
        return sums / length if length else sums


def tokens(text: str) -> list[str]:
    return ["0" if token[0].isdigit() else token[:_LONGEST_WORD] for token in _TOKEN.findall(text.lower())]


def _row(word: str) -> bytes:
    """Return a word's own buckets: the word, and every three letters of it with its borders marked."""
    row = np.zeros(DIMENSION, dtype=np.int8)
    features = [(word, _WORD)]
    if word != "0":
        marked = f"<{word}>"
        features += [("~" + marked[at : at + 3], _TRIPLE) for at in range(len(marked) - 2)]
    for feature, weight in features:
        code = crc32(feature.encode())
        row[code % DIMENSION] += weight if code & 0x8000_0000 else -weight
    return row.tobytes()
