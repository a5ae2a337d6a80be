"""Numbers in prose, in digits or words: 1,200 · $3.50 · 25% · 3/4 · twenty-five · two thirds · half · twice · a dozen.

Every number is exact; percentages are kept as they are stated (25 for 25%), fractions as fractions.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from mage_es.engine.players.arithmetic.cues import FUNCTION_WORDS
from mage_es.engine.players.arithmetic.words import Token, tokenize

MOST_NUMBERS = 20
_LONGEST_ANSWER = 200

_UP_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_ONES = {word: value for value, word in enumerate(_UP_TO_NINETEEN.split())}
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_CURRENCIES = frozenset(
    {"dollar", "dollars", "cent", "cents", "euro", "euros", "buck", "bucks", "yen", "rupees", "pesos", "pence"}
)
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1000000}
_PARTS = {
    "half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10,
}  # fmt: skip
_FACTORS = {"twice": 2, "double": 2, "thrice": 3, "triple": 3, "quadruple": 4, "dozen": 12}


class Numeral(NamedTuple):
    """`kind`: `count`, `money`, `percent`, `fraction`, `factor` or `one`; tokens [start, end)."""

    value: Fraction
    kind: str
    start: int
    end: int


def find_numerals(tokens: Sequence[Token]) -> list[Numeral]:
    found: list[Numeral] = []
    at = 0
    while at < len(tokens) and len(found) < MOST_NUMBERS:
        numeral = _digits(tokens, at) if tokens[at].kind == "number" else _words(tokens, at)
        if numeral is None:
            at += 1
        else:
            found.append(numeral)
            at = numeral.end
    return found


def read_number(text: str) -> Fraction | None:
    found = find_numerals(tokenize(text[:_LONGEST_ANSWER]))
    if not found:
        return None
    return -found[0].value if text.lstrip().lstrip("$").startswith(("-", "−")) else found[0].value


def _text(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text if 0 <= at < len(tokens) else ""


def _digits(tokens: Sequence[Token], at: int) -> Numeral:
    value = Fraction(tokens[at].text.replace(",", ""))
    end = at + 1
    if _text(tokens, end) == "/" and end + 1 < len(tokens) and tokens[end + 1].kind == "number":
        below = Fraction(tokens[end + 1].text.replace(",", ""))
        if below and below.denominator == 1 and value.denominator == 1:
            return Numeral(value / below, "fraction", at, end + 2)
    if (  # a mixed number: 1 1/2
        end + 2 < len(tokens)
        and tokens[end].kind == "number"
        and tokens[end + 1].text == "/"
        and tokens[end + 2].kind == "number"
    ):
        part = _digits(tokens, end)
        if part.kind == "fraction" and value.denominator == 1:
            return Numeral(value + part.value, "count", at, part.end)
    if _text(tokens, end) in ("%", "percent"):
        return Numeral(value, "percent", at, end + 1)
    if _text(tokens, end) in _SCALES:
        value, end = value * _SCALES[_text(tokens, end)], end + 1
    if _text(tokens, at - 1) in ("$", "€", "£") or _text(tokens, end) in _CURRENCIES:
        return Numeral(value, "money", at, end)
    return Numeral(value, "factor" if _text(tokens, end) == "times" else "count", at, end)


def _words(tokens: Sequence[Token], at: int) -> Numeral | None:
    text = tokens[at].text
    if text in _FACTORS:
        return Numeral(Fraction(_FACTORS[text]), "factor", at, at + 1)
    if text == "half":
        return Numeral(Fraction(1, 2), "fraction", at, at + 1)
    below = _PARTS.get(_text(tokens, at + 1)) if text in ("a", "an", "one") else None
    if below and (at + 2 >= len(tokens) or tokens[at + 2].kind != "word" or tokens[at + 2].text in FUNCTION_WORDS):
        return Numeral(Fraction(1, below), "fraction", at, at + 2)
    value, end = _cardinal(tokens, at)
    if end == at:
        return None
    after = end + 1 if _text(tokens, end) == "-" else end
    root = tokens[after].stem if after < len(tokens) else ""
    below = _PARTS.get(root) or _PARTS.get(_text(tokens, after))
    if below and value < below and (after > end or _text(tokens, after + 1) == "of"):
        return Numeral(Fraction(value, below), "fraction", at, after + 1)
    if _text(tokens, end) == "percent":
        return Numeral(Fraction(value), "percent", at, end + 1)
    if _text(tokens, end) in _CURRENCIES:
        return Numeral(Fraction(value), "money", at, end)
    if _text(tokens, end) == "times":
        return Numeral(Fraction(value), "factor", at, end)
    return Numeral(Fraction(value), "one" if value == 1 else "count", at, end)


def _cardinal(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """Return its value and where it ends (`at` if there is no number)."""
    total = current = 0
    end = at
    while end < len(tokens):
        text = tokens[end].text
        if text in _ONES and (end == at or (current % 10 == 0 and _ONES[text] < 10)):
            current += _ONES[text]
        elif text in _TENS and (end == at or current % 100 == 0):
            current += _TENS[text]
        elif text in _SCALES and end > at:
            scaled = max(1, current) * _SCALES[text]
            total, current = (total, scaled) if text == "hundred" else (total + scaled, 0)
        elif text in ("-", "and") and end > at and _continues(tokens, end, current=current):
            pass
        else:
            break
        end += 1
    return total + current, end


def _continues(tokens: Sequence[Token], at: int, *, current: int) -> bool:
    following = _text(tokens, at + 1)
    if tokens[at].text == "-":
        return following in _ONES and current % 10 == 0 and current % 100 >= 20
    before = _text(tokens, at - 1)
    return before in ("hundred", "thousand") and (following in _ONES or following in _TENS)
