"""Finds out whether a reply that was cut at its limit had begun to repeat itself: the same line, sentence or pair of
words, up to its end.

Greedy decoding that has said the same thing a few times says it forever, so a longer limit only buys more of the same.
A loop is an ending that is periodic in its words and signs: one stretch, at least four times, word for word. The
rows of a table or the items of an enumeration only resemble a loop: each has another word. Numbers that only count
(`17.`, `Step 18:`) are left out. A matrix of zeros or a sum of ones may be intended, so it counts as a loop only if it
is very long. An ending of nothing but blanks is a loop as well; a reply that is held to a form may fall into one.
"""

import re
from collections.abc import Sequence

_READ = 24_000
"""How many characters at the end of a reply are read: the longest stretch that can be noticed is a quarter of them."""
_COUNTED = re.compile(r"^([ \t>#*(\-]*(?:[^\W\d_]+[ ])?)\d{1,5}(?=[*_]*[.):])", re.MULTILINE)
_TOKEN = re.compile(r"\w{1,16}|[^\w\s]")
_WORD = re.compile(r"[^\W\d_]{2}|\d{3}|[^\w,;:.|&\\()\[\]{}+*\"'-]")
_TIMES = 4
_LEAST, _LEAST_BARE = 200, 2_400
"""The least number of characters in a loop. Blanks count only if there is nothing else."""
_BARE = 3
"""A stretch with fewer distinct letters and digits than this, and only the signs of lists, tables and sums, is bare."""


def is_looping(text: str) -> bool:
    """Return whether a text ends in a loop. The time is linear in the part that is read."""
    if len(text) - len(text.rstrip()) >= _LEAST:
        return True
    # The last token may be cut.
    tokens: Sequence[str] = _TOKEN.findall(_COUNTED.sub(r"\1", text[-_READ:]))[-2::-1]
    for period, repeated in enumerate(_repeated(tokens)[1:], start=1):
        if period + repeated >= _TIMES * period and _length(tokens[: period + repeated]) >= _LEAST:
            # The shortest stretch decides: all others that fit are multiples of it.
            stretch = tokens[:period]
            is_bare = len({*filter(str.isalnum, stretch)}) < _BARE and not any(map(_WORD.search, stretch))
            return not is_bare or _length(tokens[: period + repeated]) >= _LEAST_BARE
    return False


def _length(tokens: Sequence[str]) -> int:
    return sum(map(len, tokens))


def _repeated(tokens: Sequence[str]) -> list[int]:
    """Return for each position how many tokens from there on match the start of the sequence (the Z-function)."""
    found = [0] * len(tokens)
    start = end = 0
    for place in range(1, len(tokens)):
        same = min(end - place, found[place - start]) if place < end else 0
        while place + same < len(tokens) and tokens[same] == tokens[place + same]:
            same += 1
        found[place] = same
        if place + same > end:
            start, end = place, place + same
    return found
