"""Noun phrases around numbers: what a number counts, and what it is counted per."""

from collections.abc import Sequence

from mage_es.engine.players.arithmetic.cues import CLASSES, FUNCTION_WORDS
from mage_es.engine.players.arithmetic.numerals import Numeral
from mage_es.engine.players.arithmetic.words import Token

_UNIT_WORDS_AFTER = 4
_LEADING = ("more", "less", "fewer", "of", "the", "her", "his", "their", "-", "other", "further")
TIME_UNITS = frozenset({"second", "minut", "hour", "day", "week", "month", "year"})


def is_content(token: Token) -> bool:
    return token.kind == "word" and not token.is_name and token.text not in FUNCTION_WORDS


def head_noun(tokens: Sequence[Token], at: int, *, singular: str = "") -> str:
    """Return the stem of the last word of the noun phrase that starts at `at`, or "".

    After a `singular` word such as "each", a word in s that follows the noun counts as its verb.
    """
    noun = ""
    taken = 0
    while at < len(tokens) and taken < _UNIT_WORDS_AFTER:
        token = tokens[at]
        if token.text in _LEADING and not noun:
            at, taken = at + 1, taken + 1
            continue
        if not is_content(token) or (noun and (_is_verb_like(token) or (singular and token.text[-1] == "s"))):
            break
        noun = token.stem
        if token.text.endswith("s") and not token.text.endswith("ss"):
            break
        at, taken = at + 1, taken + 1
    return noun


def _is_verb_like(token: Token) -> bool:
    hints = CLASSES.get(token.stem, ())
    return token.text.endswith(("ed", "ing")) or any(hint in ("loss", "gain", "need") for hint in hints)


def per(tokens: Sequence[Token], numeral: Numeral) -> str:
    """Return "?" if the noun after "each", "per", "every" or "a" is missing."""
    for at in range(numeral.end, min(numeral.end + 7, len(tokens))):
        token = tokens[at]
        if token.sentence != tokens[numeral.start].sentence or token.kind == "number" or token.text in ",;":
            break
        if token.text in ("each", "every", "per", "apiece"):
            return head_noun(tokens, at + 1, singular=token.text) or "?"
        if token.text in ("a", "an") and at > numeral.end - 1 and at + 1 < len(tokens):
            noun = head_noun(tokens, at + 1)
            if noun in TIME_UNITS or numeral.kind == "money":
                return noun
    for at in range(numeral.start - 1, max(numeral.start - 9, -1), -1):
        token = tokens[at]
        if token.sentence != tokens[numeral.start].sentence or token.kind == "number":
            break
        if token.text in ("each", "every", "per"):
            return head_noun(tokens, at + 1, singular=token.text) or "?"
    return ""
