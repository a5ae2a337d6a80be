"""When two questions count as the same: a normal form, its hash, and shingles for near-duplicates."""

from __future__ import annotations

import hashlib
import re

NEAR_DUPLICATE = 0.8
"""Jaccard similarity of the shingle sets from which two questions count as near-duplicates."""

_SPACE = re.compile(r"\s+")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_SHINGLE = 5


def normalise(question: str) -> str:
    """Return the question case-folded, with single spaces and without punctuation at either end."""
    return _EDGES.sub("", _SPACE.sub(" ", question.casefold()).strip())


def question_hash(normalised: str) -> str:
    """Return 16 hexadecimal digits for a normalised question."""
    return hashlib.sha256(normalised.encode()).hexdigest()[:16]


def shingles(normalised: str) -> frozenset[str]:
    """Return all runs of five words of a normalised question; a shorter one is its own only shingle."""
    words = normalised.split(" ")
    return frozenset(" ".join(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1)))
