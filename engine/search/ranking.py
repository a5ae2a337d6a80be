"""Ranking a handful of pages by the words that they share with a query; larger corpora have their own index."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from mage_es.engine.seams.search import Page

_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    _WORD.findall(
        "a an and are as at be by did do does for from had has have he her his how in is it its of on or she that the "
        "their they this to was were what when where which who whom whose why will with"
    )
)


def ranked(pages: Sequence[Page], query: str) -> list[Page]:
    """Return the pages that share a word with the query, by the rarity of the shared words; ties by title."""
    held = {page: words(f"{page.title} {page.text}") for page in pages}
    spread = Counter(word for own in held.values() for word in own)
    wanted = words(query)
    scores = {
        page: sum(math.log1p(len(held) / spread[word]) for word in sorted(wanted & own)) for page, own in held.items()
    }
    return sorted((page for page in held if scores[page] > 0), key=lambda page: (-scores[page], page.title))


def words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _COMMON
