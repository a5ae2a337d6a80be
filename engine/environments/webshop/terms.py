"""From a text to the terms that the search engine knows: Unicode words, stop words left out, Porter stems.

Rules
    - Words are those of Unicode Standard Annex 29, as the library `regex` finds them; a run that holds no letter, no
      digit, no ideograph and no pictograph is none.
    - Stems are Porter's with Martin's amendments (`bli` to `ble`, `logi` to `log`, words of two letters as they are):
      nltk has that variant, snowballstemmer does not. No accent is folded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

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
