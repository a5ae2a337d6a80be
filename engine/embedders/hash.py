"""The embedder `hash`: words, word pairs and letter triples hashed into 128 signed buckets.

It needs no weights and no network, and it knows no meaning: two texts are near when they share words and
parts of words. A number carries no topic, so every run of digits counts as the same token.

Rules
    - The same text gives the same bytes on every machine: all sums are over integers held exactly, and the
      only roundings are one square root, one division and one cast, each correctly rounded.

Why not a library's feature hasher: those hash one feature at a time, an order of magnitude slower than
one cached row of buckets for each word.
"""

import math
import re
from collections.abc import Sequence
from itertools import chain, pairwise
from threading import Lock
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

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
_COUNT_WEIGHTS = np.array([0.0, *(float(round(_SCALE * (1 + math.log(count)))) for count in range(1, 256))])
_BATCH = 256
"""Texts whose words are counted at once."""


class _Words(dict[str, int]):
    """The number of each word, by every token that is taken for it; a word that is met first gets the next number.

    Threads share it: what a number names is there before the number is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[bytes] = []
        self.codes: list[tuple[bytes, int]] = []
        """A word's bytes, as the second of a pair, and its checksum, as the first."""
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
        for start in range(0, len(texts), _BATCH):
            if len(self._words) > _CACHED_WORDS:
                self._words = _Words()
            sums = _sums(self._words, texts[start : start + _BATCH])
            # One row at a time: of a sum of squares above 2**53 the last bit would depend on what else is in the batch.
            lengths = np.array([math.sqrt(float(row @ row)) or 1.0 for row in sums])
            vectors[start : start + _BATCH] = sums / lengths[:, None]
        return vectors


def _sums(words: _Words, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the signed buckets of each text, whole numbers of shape [len(texts), 128]."""
    found = [list(map(words.__getitem__, _TOKEN.findall(text.lower()))) for text in texts]
    flat = list(chain.from_iterable(found))
    owners = np.repeat(np.arange(len(texts)), [len(each) for each in found])
    sums = np.zeros((len(texts), DIMENSION))
    cells, counts = _counted(owners << 32 | np.array(flat, dtype=np.int64))
    present, weights = (cells & 0xFFFF_FFFF).tolist(), _weights(counts)
    starts = np.searchsorted(cells, np.arange(len(texts) + 1) << 32).tolist()
    for place, (start, stop) in enumerate(pairwise(starts)):
        rows = np.frombuffer(b"".join([words.rows[word] for word in present[start:stop]]), dtype=np.int8)
        sums[place] = weights[start:stop] @ rows.reshape(-1, DIMENSION).astype(np.float64)

    codes = words.codes
    pairs = [crc32(codes[second][0], codes[first][1]) for first, second in pairwise(flat)]
    is_pair = owners[1:] == owners[:-1]  # else its words are of two texts
    keys, counts = _counted((owners[1:] << 32 | np.array(pairs, dtype=np.int64))[is_pair])
    signed = np.where(keys & 0x8000_0000, _PAIR, -_PAIR) * _weights(counts)
    buckets = (keys >> 32) * DIMENSION + (keys & 0xFFFF_FFFF) % DIMENSION
    sums += np.bincount(buckets, signed, minlength=sums.size).reshape(sums.shape)
    return sums


def _counted(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys that differ, ascending, and how often each is there: `np.unique`, but cheap for few."""
    ordered = np.sort(keys)
    firsts = np.flatnonzero(np.diff(ordered, prepend=-1))  # no key is negative
    return ordered[firsts], np.diff(firsts, append=len(keys))


def _weights(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = _COUNT_WEIGHTS[np.minimum(counts, 255)]
    return found


def _word(token: str) -> str:
    return "0" if token[0].isdigit() else token[:_LONGEST_WORD]


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
