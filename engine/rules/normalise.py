"""When two questions count as the same: a normal form, its hash, and word shingles for near-duplicates."""

from __future__ import annotations

import hashlib
import re

NEAR_DUPLICATE = 0.8  # Jaccard similarity of the shingle sets from which two questions count as near-duplicates

_SHINGLE = 5
_BARE, _WORD = re.compile(r"[^\W_](?:.*[^\W_])?"), re.compile(r"[^\W_](?:\S*[^\W_])?")
"""From the first letter or digit to the last one: of a text in one line, and of each word."""


def normalise(question: str) -> str:
    """Return the question case-folded, with single spaces and without punctuation at either end."""
    found = _BARE.search(" ".join(question.casefold().split()))
    return found[0] if found else ""


def question_hash(normalised: str) -> str:
    return hashlib.sha256(normalised.encode()).hexdigest()[:16]


def shingle_run(text: str) -> list[str]:
    """Return every run of five words of a text, in order; a shorter text is its own only shingle.

    Words are those of the normal form, without punctuation at either end.
    """
    # Punctuation by itself is no word: a space before a question mark must not make another question.
    words = _WORD.findall(text.casefold())
    return [" ".join(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1))]


def shingle_hash(shingle: str) -> bytes:
    """Return the 8 bytes that represent a shingle in a log."""
    return hashlib.blake2b(shingle.encode(), digest_size=8).digest()
