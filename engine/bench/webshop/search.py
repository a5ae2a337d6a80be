"""The shop's search engine: BM25 as Anserini sets it up, over everything said about a product.

k1 0.9, b 0.4, no factor k1 + 1, the mean length exact, a document's own length quantised as Lucene stores it: none of
the libraries that we examined stores lengths this way, and without it the order of results differs.

Terms
    - Words are those of Unicode Standard Annex 29, as the library `regex` finds them; a run without a letter, digit,
      ideograph or pictograph is not a word. Lucene's stop words are left out.
    - Stems are Porter's with Martin's amendments (`bli` to `ble`, `logi` to `log`, two-letter words unchanged): nltk
      has that variant, snowballstemmer does not. No accent is folded.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mage_es.engine.bench.webshop.catalogue import Product
from mage_es.events.errors import PrerequisiteError

_STOP_WORDS = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
    was will with
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Lucene's classic English list."""
_WORD = (
    r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}\p{WB=Numeric}\p{WB=Katakana}\p{WB=Regional_Indicator}"
    r"\p{Script=Han}\p{Script=Hiragana}\p{Line_Break=Complex_Context}]"
    r"|[\p{Extended_Pictographic}&&\p{Emoji}]"
)
_POSSESSIVE = ("'s", "’s", "'S", "’S")


class Language(NamedTuple):
    split: Callable[[str], list[str]]
    is_word: Callable[[str], Any]
    stem: Callable[[str], str]


def terms_of(text: str) -> list[str]:
    split, is_word, _ = language()
    found = (_term(word) for word in split(text) if is_word(word))
    return [term for term in found if term]


@lru_cache(maxsize=200_000)
def _term(word: str) -> str:
    plain = (word[:-2] if word.endswith(_POSSESSIVE) else word).lower()
    return "" if plain in STOP_WORDS else language().stem(plain)


@lru_cache(maxsize=1)
def language() -> Language:
    try:
        import regex
        from nltk.stem.porter import PorterStemmer
    except ImportError as error:
        raise PrerequisiteError(
            f"WebShop's search needs {error.name}, which is not installed. "
            "Run: python -m pip install 'mage-es[benchmarks]'"
        ) from error
    stemmer = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)
    return Language(regex.compile(r"(?V1w)\b").split, regex.compile(f"(?V1){_WORD}").search, stemmer.stem)


K1, B = 0.9, 0.4
MOST_HITS = 50
_EXACT = 24
"""Lengths below this are stored exactly; of the excess, only the four most significant bits are."""
_BITS = 4


class SearchEngine:
    """[section 4, WebShop, the search] BM25 as in Anserini, with quantised lengths and Lucene's words and stems."""

    def __init__(self, products: Sequence[Product]) -> None:
        ordered = sorted(products, key=lambda product: product.asin)
        self._asins = [product.asin for product in ordered]
        counts = [Counter(terms_of(document_of(product))) for product in ordered]
        lengths = [count.total() for count in counts]
        mean = sum(lengths) / len(lengths) if sum(lengths) else 1.0
        postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, (count, length) in enumerate(zip(counts, lengths, strict=True)):
            norm = K1 * (1 - B + B * quantised(length) / mean)
            for term, frequency in count.items():
                postings[term].append((place, frequency / (frequency + norm)))
        self._postings: dict[str, tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]] = {}
        for term, found in postings.items():
            rarity = math.log(1 + (len(ordered) - len(found) + 0.5) / (len(found) + 0.5))
            weights = np.array([rarity * weight for _, weight in found])
            self._postings[term] = np.array([place for place, _ in found], dtype=np.intp), weights

    def scores(self, query: str) -> list[tuple[str, float]]:
        """Return (product number, score) of the best hits, best first; none for a query without a term."""
        total = np.zeros(len(self._asins))
        for term, times in Counter(terms_of(query)).items():
            if term in self._postings:
                places, weights = self._postings[term]
                total[places] += times * weights
        single = total.astype(np.float32)
        order = np.argsort(-single, kind="stable")[:MOST_HITS]  # stable: ties stay in the order of product numbers
        return [(self._asins[place], float(single[place])) for place in order if single[place] > 0]

    def search(self, query: str) -> list[str]:
        return [asin for asin, _ in self.scores(query)]


def document_of(product: Product) -> str:
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options.items())
    first = product.bullet_points[0] if product.bullet_points else ""
    return " ".join((product.title, product.description, first, options)).lower()


def quantised(length: int) -> int:
    above = length - _EXACT
    if above < 1 << _BITS:
        return length
    lost = above.bit_length() - _BITS
    return _EXACT + (above >> lost << lost)
