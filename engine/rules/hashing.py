"""Texts as signed buckets: words, word pairs, letter triples and sizes of numbers.

Two texts are near when they share words and parts of words. A number has no topic, so all numbers count as the same
word. But the right answer often depends on how large a number is ("over 500 euros"), so a number also counts by its
octave (the next power of two), alone and together with the word that follows.

Rules
    - Each octave shares one feature with the octave below and another with the one above. Otherwise 5 would be no
      nearer to 9 than to 9,000.
    - Times, fractions, dates and versions have no size. Neither has a whole number of more than four digits without
      separators: it is more likely to identify an order or a customer than to be an amount.
    - In scripts without spaces between words, each letter counts as a word.
    - The same text gives the same bytes on every machine, however its accents are encoded. All sums are over exact
      integers; one square root, one division and one cast round, and each is rounded correctly.

Libraries have feature hashers, but they hash one feature at a time. That is an order of magnitude slower than one
cached row of buckets for each word.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from threading import Lock
from unicodedata import normalize
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.seams.embedder import Vectors

_WORD, _PAIR, _TRIPLE, _OCTAVE = 4, 1, 2, 2
"""How much a feature of each kind adds to its bucket. A pair says in which order two words are, and little else: pairs
that weigh more drown the words that an answer depends on, since all features share the buckets. An octave adds as much
with the word that follows as alone."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese letters."""
_TOKEN = re.compile(rf"\d+(?:[.,:/]\d+)*|[{_UNSPACED}]|(?:[^\W\d_{_UNSPACED}]+(?:['’][^\W\d_{_UNSPACED}]+)*)")
_SEPARATOR = re.compile("[.,:/]")
_NUMBER = "0"
"""The word that all numbers are."""
_LONGEST_AMOUNT, _LONGEST_NUMBER = 4, 15
"""How many characters a number that has a size may have, without separators and with."""
_LONGEST_WORD = 24
_CACHED_WORDS = 65_536
_SCALE = 64
_MOST_COUNTED = 255
_WEIGHTS = (0.0, *(float(round(_SCALE * (1 + math.log(count)))) for count in range(1, _MOST_COUNTED + 1)))
"""How much a count weighs."""
_Places = NDArray[np.int64]
_Numbers = NDArray[np.float64]


class _Words(dict[str, int]):
    """The position of each word, by every token that means it; a new word gets the next one. Threads share this: what a
    position refers to exists before the position is known."""

    def __init__(self, buckets: int, names: int) -> None:
        super().__init__()
        self.buckets, self.names = buckets, names
        self.rows: list[tuple[_Places, _Numbers]] = []
        """A word's own buckets, and how much it adds to each."""
        self.codes: list[tuple[bytes, int, list[int]]] = []
        """A word's bytes, used when it is second in a pair; its checksum and those of its octaves, used when it is
        first."""
        self._places: dict[tuple[str, int | None, str], int] = {}
        self._growing = Lock()

    def __missing__(self, token: str) -> int:
        is_number = token[0].isdecimal()
        name = token if is_number and self.names else ""
        found = (_NUMBER, _octave(token), name) if is_number else (token[:_LONGEST_WORD], None, "")
        with self._growing:
            if found not in self._places:
                word = found[0].encode()
                places, numbers = _row(*found[:2], self.buckets)
                if name:
                    places = np.append(places, self.buckets + crc32(name.encode()) % self.names)
                    numbers = np.append(numbers, _WORD)
                self.rows.append((places, numbers))
                self.codes.append((word, crc32(word + b" "), [crc32(f"{each} ".encode()) for each in _names(found[1])]))
                self._places[found] = len(self.rows) - 1
        return self.setdefault(token, self._places[found])


class Hashing:
    """`names` is how many buckets follow the others, for numbers as they are written: 404 and 409 are the same word,
    but not the same name."""

    def __init__(self, buckets: int, names: int = 0) -> None:
        self._words = _Words(buckets, names)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape [len(texts), buckets + names], float32; a text without words gives zeros."""
        buckets, names = self._words.buckets, self._words.names
        vectors = np.zeros((len(texts), buckets + names), dtype=np.float32)
        for place, text in enumerate(texts):
            if len(self._words) > _CACHED_WORDS:
                self._words = _Words(buckets, names)
            if (found := _buckets(self._words, text)) is not None:
                vectors[place] = found / (math.sqrt(float(found @ found)) or 1.0)
        return vectors


def _buckets(words: _Words, text: str) -> _Numbers | None:
    """Return the signed buckets of a text, whole numbers; None if it has no words."""
    found = [words[token] for token in _TOKEN.findall(normalize("NFC", text).lower())]
    if not found:
        return None
    counts, codes = Counter(found), words.codes
    rows = [words.rows[word] for word in counts]
    weights = np.repeat(_weights(counts), [len(places) for places, _ in rows])
    pairs = [(codes[first], codes[second][0]) for first, second in pairwise(found)]
    in_pairs = _signed(_PAIR, [crc32(second, first) for (_, first, _), second in pairs], words.buckets)
    octaves = [crc32(second, octave) for (_, _, octaves), second in pairs for octave in octaves]
    of_octaves = _signed(_OCTAVE, octaves, words.buckets)
    places = np.concatenate([*(places for places, _ in rows), in_pairs[0], of_octaves[0]])
    adding = np.concatenate([np.concatenate([numbers for _, numbers in rows]) * weights, in_pairs[1], of_octaves[1]])
    return np.bincount(places, weights=adding, minlength=words.buckets + words.names).astype(np.float64, copy=False)


def _weights(counts: Mapping[int, int]) -> _Numbers:
    return np.array([_WEIGHTS[min(count, _MOST_COUNTED)] for count in counts.values()])


def _signed(each: int, features: Sequence[int], buckets: int) -> tuple[_Places, _Numbers]:
    """Return the bucket of each distinct feature (a checksum), and what it adds: `each`, by its sign and count."""
    counts = Counter(features)
    codes = np.fromiter(counts, dtype=np.int64, count=len(counts))
    return codes % buckets, np.where(codes & 0x8000_0000, each, -each) * _weights(counts)


def _octave(number: str) -> int | None:
    """Return the octave of a number, counted in thousandths; None if it has no size."""
    parts, marks = _SEPARATOR.split(number), set(_SEPARATOR.findall(number))
    if marks & {":", "/"} or len(number) > (_LONGEST_NUMBER if marks else _LONGEST_AMOUNT):
        return None
    whole, decimals = parts, ""
    if len(marks) == 2 or (len(parts) == 2 and ("." in marks or len(parts[1]) != 3 or whole[0] == "0")):
        whole, decimals = parts[:-1], parts[-1]
    if any(len(part) != 3 for part in whole[1:]):
        return None
    return int("".join(whole) + f"{decimals:0<3.3}").bit_length()


def _names(octave: int | None) -> Sequence[str]:
    """Return the features of an octave: itself, and with each of the two beside it."""
    return () if octave is None else (f"#{octave}", f"#{octave}|{octave + 1}", f"#{octave - 1}|{octave}")


def _row(word: str, octave: int | None, buckets: int) -> tuple[_Places, _Numbers]:
    """Return a word's own buckets: the word, its letter triples with the borders marked, or a number's octave."""
    features = [(word, _WORD)]
    if word != _NUMBER:
        marked = f"<{word}>"
        features += [("~" + marked[at : at + 3], _TRIPLE) for at in range(len(marked) - 2)]
    features += [(name, _OCTAVE) for name in _names(octave)]
    codes = [crc32(feature.encode()) for feature, _ in features]
    signed = [weight if code & 0x8000_0000 else -weight for code, (_, weight) in zip(codes, features, strict=True)]
    return np.array([code % buckets for code in codes]), np.array(signed, dtype=np.float64)
