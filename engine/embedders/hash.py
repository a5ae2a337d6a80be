"""The embedder `hash`: turns a text into 128 signed buckets, by hashing its words (rules/hashing.py).

It needs no weights and no network, and it knows no meaning: two texts are near when they share words and parts of
words.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mage_es.engine.rules.hashing import Hashing
from mage_es.engine.seams.embedder import Vectors
from mage_es.events.digests import sha256_text

DIMENSION = 128
ALGORITHM = (
    "hash/4: NFC, crc32, words or letters of unspaced scripts x4, word pairs x1, letter triples x2, octaves x2, "
    "octaves with the next word x2, 1 + ln(count), 128 signed buckets"
)


_HASHING = Hashing(DIMENSION)


# What a run embeds, its exams and its audit embed again, often in one process.
@lru_cache(maxsize=4096)
def _vector(text: str) -> Vectors:
    return _HASHING.vectors([text])


class HashEmbedder:
    name = "hash"
    dimension = DIMENSION
    sha256 = sha256_text(ALGORITHM)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape [len(texts), 128], float32; a text without words gives zeros."""
        return np.concatenate([np.empty((0, DIMENSION), np.float32), *map(_vector, texts)])
