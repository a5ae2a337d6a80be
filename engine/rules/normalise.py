"""When two questions count as the same: a normal form, its hash, and word shingles for near-duplicates."""

from __future__ import annotations

import hashlib

NEAR_DUPLICATE = 0.8  # Jaccard similarity of the shingle sets from which two questions count as near-duplicates

_SHINGLE = 5


def normalise(question: str) -> str:
    """Return the question case-folded, with single spaces and without punctuation at either end."""
    return _bare(" ".join(question.casefold().split()))


def question_hash(normalised: str) -> str:
    return hashlib.sha256(normalised.encode()).hexdigest()[:16]


def shingle_run(text: str) -> list[str]:
    """Return every run of five words of a text, in order; a shorter text is its own only shingle.

    Words are those of the normal form, without punctuation at either end.
    """
    # Punctuation by itself is no word: a space before a question mark must not make another question.
    words = [word for word in map(_bare, normalise(text).split(" ")) if word]
    return [" ".join(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1))]


def shingle_hash(shingle: str) -> bytes:
    """Return the 8 bytes that represent a shingle in a log."""
    return hashlib.blake2b(shingle.encode(), digest_size=8).digest()


def _bare(text: str) -> str:
    # `str.strip` would need a list of all punctuation there is; most words take this way out.
    if text.isalnum():
        return text
    start, end = 0, len(text)
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return text[start:end]
