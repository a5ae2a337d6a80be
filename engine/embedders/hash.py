"""The embedder `hash`: words, word pairs and letter triples hashed into 128 signed buckets.

It needs no weights and no network, and it knows no meaning: two texts are near when they share words and parts of
words. A number has no topic, so all runs of digits count as the same token.

Rules
    - The same text gives the same bytes on every machine: all sums are over exact integers, and the only roundings are
      one square root, one division and one cast, each correctly rounded.

Why not a library's feature hasher: those hash one feature at a time, an order of magnitude slower than
one cached row of buckets for each word.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from threading import Lock
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.seams.embedder import Vectors
from mage_es.events.digests import sha256_text

DIMENSION = 128
ALGORITHM = "hash/2: crc32, words x4, word pairs x1, letter triples x2, 1 + ln(count), 128 signed buckets"

_WORD, _PAIR, _TRIPLE = 4, 1, 2
"""How much a feature of each kind adds to its bucket. A pair says in which order two words are, and little else: pairs
that weigh more drown the words that an answer depends on, since all features share the buckets."""
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*")
_LONGEST_WORD = 24
_CACHED_WORDS = 65_536
_SCALE = 64
_MOST_COUNTED = 255
_WEIGHTS = (0.0, *(float(round(_SCALE * (1 + math.log(count)))) for count in range(1, _MOST_COUNTED + 1)))
"""How much a count weighs. Looked up in place: a call for each word and each pair would take a quarter of the time."""


class _Words(dict[str, int]):
    """The number of each word, by every token that stands for it; a new word gets the next number. Threads share it: a
    number's word exists before the number does."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[bytes] = []
        self.codes: list[tuple[bytes, int]] = []
        """A word's bytes, for its use as second of a pair, and its checksum, for its use as first."""
        self._growing = Lock()

    def __missing__(self, token: str) -> int:
        if (word := _word(token)) != token:
            return self.setdefault(token, self[word])
        with self._growing:
            if word not in self:
                self.rows.append(_row(word))
                self.codes.append((word.encode(), crc32(word.encode() + b" ")))
                self[word] = len(self.rows) - 1
        return self[word]


class HashEmbedder:
    name = "hash"
    dimension = DIMENSION
    sha256 = sha256_text(ALGORITHM)

    def __init__(self) -> None:
        self._words = _Words()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape [len(texts), 128], float32; a text without words gives zeros."""
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for place, text in enumerate(texts):
            if len(self._words) > _CACHED_WORDS:
                self._words = _Words()
            if (buckets := _buckets(self._words, text)) is not None:
                vectors[place] = buckets / (math.sqrt(float(buckets @ buckets)) or 1.0)
        return vectors


def _buckets(words: _Words, text: str) -> NDArray[np.float64] | None:
    """Return the signed buckets of a text, 128 whole numbers; None if it has no words."""
    found = [words[token] for token in _TOKEN.findall(text.lower())]
    if not found:
        return None
    counts = Counter(found)
    rows = np.frombuffer(b"".join([words.rows[word] for word in counts]), dtype=np.int8).reshape(-1, DIMENSION)
    weights = np.array([_WEIGHTS[count if count < _MOST_COUNTED else _MOST_COUNTED] for count in counts.values()])
    # Plain numbers, since a text has few pairs: NumPy's overhead per call would cost more than all of them.
    sums, codes = [0.0] * DIMENSION, words.codes
    pairs = Counter([crc32(codes[second][0], codes[first][1]) for first, second in pairwise(found)])
    for code, count in pairs.items():
        weight = _WEIGHTS[count if count < _MOST_COUNTED else _MOST_COUNTED]
        sums[code % DIMENSION] += (_PAIR if code & 0x8000_0000 else -_PAIR) * weight
    buckets: NDArray[np.float64] = weights @ rows.astype(np.float64) + sums
    return buckets


def _word(token: str) -> str:
    return "0" if token[0].isdigit() else token[:_LONGEST_WORD]


def _row(word: str) -> bytes:
    """Return a word's own buckets: the word, and its letter triples with the borders marked."""
    row = np.zeros(DIMENSION, dtype=np.int8)
    features = [(word, _WORD)]
    if word != "0":
        marked = f"<{word}>"
        features += [("~" + marked[at : at + 3], _TRIPLE) for at in range(len(marked) - 2)]
    for feature, weight in features:
        code = crc32(feature.encode())
        row[code % DIMENSION] += weight if code & 0x8000_0000 else -weight
    return row.tobytes()
