"""Whether a short answer is right, as a person marking it would decide.

Rules
    - Two amounts are the same if their values are equal and their units do not differ: `75` is `$75` and `75 kg`, but
      `75 kg` is not `75 g`, nor `5 mW` `5 MW`. `12.5%` is `12.5` and not `0.125`; `1e-05` is `0.00001`, `1.234,56` is
      `1234.56`. Digits after a leading zero, or followed at once by letters, are a code (`007`, `0010.PX`, `3D`), and a
      number may be part of a name (`7 Wonders`).
    - Everything else is compared by its words, without case. A word of letters loses its punctuation (`e-mail`,
      `U.S.`, `late_delivery`), and blanks beside letters do not count; `the` does not either, nor an article in front.
    - A word with a digit or another sign is compared as it is written: `C#`, `C++`, `<5`, `10:30`, `3/4`, `v1.2`,
      `A-`, `192.168.1.1`. Only quotes, emphasis, brackets and the punctuation of the sentence around it are dropped.

HotpotQA's own normal form (benchmarks/answers.py) deletes every sign, so that `-5` is `5` and `C++` is `C`.
"""

import re
import unicodedata
from collections import Counter
from decimal import Decimal
from typing import NamedTuple

from mage_es.engine.benchmarks.answers import CLOSED, harmonic
from mage_es.engine.benchmarks.numbers import read_number, undressed

_ALIKE = {
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("“”„«»「」", '"'),
    **dict.fromkeys("‐‑‒–—−", "-"),
    **{"，": ",", "。": ".", "⩽": "≤", "⩾": "≥"},
    **{chr(code): chr(code - 0xFEE0) for code in range(0xFF10, 0xFF5B)},  # full-width digits and letters
}
_LIKE = str.maketrans(_ALIKE)
_QUOTES, _EMPHASIS, _BEHIND, _WRAPPED = "\"'`", "*_", ".,;:!?", {"(": ")", "[": "]", "{": "}"}
_SPELT = (
    (re.compile(r" ?& ?"), " and "),
    (re.compile(r"<="), "≤"),
    (re.compile(r">="), "≥"),
    (re.compile(r"(?<=[0-9]),(?=[0-9]{3}\b)"), ""),
    (re.compile(r",(?![0-9])"), " "),
    (
        re.compile(r"(?<=\w) ?([/=^]) ?(?=\w)|([<>≤≥]) (?=[0-9])|(?<=[0-9]) (-) (?=[0-9])|(?<=[0-9]) ([%°])"),
        r"\1\2\3\4",
    ),
)
"""Other ways to write a sign, and how it is written here."""
_INSIDE = re.compile(r"(?<=[^\W\d_])['._](?=[^\W\d_])|(?<=[^\W\d_]{2})-(?=[^\W\d_])|(?<=[^\W\d_])-(?=[^\W\d_]{2})")
"""Punctuation within a word, but not a hyphen between single letters, which means something."""
_BLANK = re.compile(r"(?<=[^\W_]) (?=[^\W\d_])|(?<=[^\W\d_]) (?=[^\W_])")
_CODE = re.compile(r"\W*0[0-9]|.*[0-9][^\W\d_]", re.DOTALL)
_UNITS_AT_ONCE = re.compile(r"(?<=[0-9])(?=(?:[kcm]?m|[km]?g|[km]?l|s|h|min|k[Ww]h?|[KMGT]?B)\b)")
_UNIT = re.compile(r"[^\W\d_]+|[%$€£¥₹]")
_MINUS = re.compile(r"minus (?=[0-9])", re.IGNORECASE)
_COMMAS = re.compile(r"[^,']*|\D*[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,]).*|\D*[0-9]+,[0-9]{1,2}(?![0-9,]).*")
"""A number without commas and apostrophes, or whose commas group digits in threes, or whose comma begins a fraction."""
_DOTS = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:\.[0-9]{3})+(,[0-9]{1,2})(?![0-9.,])")
"""A number whose dots group digits in threes and whose comma begins a fraction."""
_POWER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]{1,3}")
_HEADING = re.compile(r"#+ ")
_SCALES = frozenset({"dozen", "hundred", "thousand", "million", "billion", "trillion"})
_UNITS = {
    **{"dollar": "$", "usd": "$", "euro": "€", "eur": "€", "gbp": "£", "percent": "%"},
    **{"gram": "g", "kilogram": "kg", "kilo": "kg", "liter": "l", "litre": "l", "hour": "h", "hr": "h"},
    **{"minute": "min", "second": "s", "sec": "s", "watt": "w", "volt": "v", "pound": "lb"},
    **{"meter": "m", "metre": "m", "kilometer": "km", "kilometre": "km", "centimeter": "cm", "centimetre": "cm"},
    **{"millimeter": "mm", "millimetre": "mm"},
}
_BY_CASE = re.compile(r"[mM](?:[AJVW]|Hz|Pa|Wh)")
"""A unit with a prefix that is milli in lower case and mega in upper case."""
_NO_UNITS = frozenset({"and", "at", "but", "less", "more", "not", "of", "off", "or", "plus", "than", "times", "to"})


class _Amount(NamedTuple):
    value: Decimal
    units: frozenset[str]


def is_same(answer: str, right: str) -> bool:
    one, other = _amount(answer), _amount(right)
    if one and other:
        is_one_bare = not (one.units and other.units) and _SCALES.isdisjoint(one.units | other.units)
        return one.value == other.value and (one.units == other.units or is_one_bare)
    given, wanted = _words(answer), _words(right)
    if not given or not wanted:
        return answer.strip().casefold() == right.strip().casefold() != ""
    return _BLANK.sub("", " ".join(given)) == _BLANK.sub("", " ".join(wanted))


def holds(answer: str, right: str) -> bool:
    """Return whether an answer is, or contains, the right one, word for word."""
    if is_same(answer, right):
        return True
    if _amount(right):
        words, size = answer.split(), len(right.split())
        return any(is_same(" ".join(words[at : at + size]).strip("()[]" + _BEHIND), right) for at in range(len(words)))
    wanted = " ".join(_words(right))
    return bool(wanted) and f" {wanted} " in f" {' '.join(_words(answer))} "


def share(answer: str, right: str) -> float:
    """Return the F1 of common words; 1 for the same answer, and 0 for another amount."""
    if is_same(answer, right):
        return 1.0
    given, wanted = _words(answer), _words(right)
    if (_amount(answer) and _amount(right)) or CLOSED & {" ".join(given), " ".join(wanted)}:
        return 0.0
    common = (Counter(given) & Counter(wanted)).total()
    return harmonic(common / len(given), common / len(wanted)) if common else 0.0


def _amount(text: str) -> _Amount | None:
    plain = undressed(text.strip(_QUOTES + _EMPHASIS + " ")).translate(_LIKE).rstrip(".,;:?")
    plain = _UNITS_AT_ONCE.sub(" ", _MINUS.sub("-", plain))
    if _POWER.fullmatch(plain):
        return _Amount(Decimal(plain), frozenset())
    plain = _DOTS.sub(lambda found: found[0].replace(".", ""), plain)
    if _CODE.match(plain) or not _COMMAS.fullmatch(plain) or (value := read_number(plain)) is None:
        return None
    units = _UNIT.findall(plain)
    if not _NO_UNITS.isdisjoint(units) or any(len(unit) > 2 and unit.istitle() for unit in units):
        return None
    named = (
        unit if _BY_CASE.fullmatch(unit) else unit.casefold().removesuffix("s" if len(unit) > 2 else "")
        for unit in units
    )
    return _Amount(value, frozenset(_UNITS.get(unit, unit) for unit in named))


def _words(text: str) -> list[str]:
    plain = _HEADING.sub("", unicodedata.normalize("NFC", text).translate(_LIKE).casefold().strip(), count=1)
    plain = plain.strip(_EMPHASIS) if plain[:1] in _EMPHASIS else plain
    for spelt, written in _SPELT:
        plain = spelt.sub(written, plain)
    found = [word for each in plain.split() if (word := _word(each)) and word != "the"]
    has_article = len(found) > 1 and found[0] in ("a", "an") and found[1].isalpha() and len(found[1]) > 1
    return found[has_article:]


def _word(text: str) -> str:
    """Return a word without what surrounds it, and without its punctuation if it consists of letters; "" for a dash."""
    before = ""
    while text != before:
        before, text = text, text.strip(_QUOTES).rstrip(_BEHIND)
        text = text.strip(_EMPHASIS) if text[:1] in _EMPHASIS else text
        if text[:1] in _WRAPPED and _WRAPPED[text[0]] not in text[1:-1]:
            text = text[1:].removesuffix(_WRAPPED[text[0]])
        elif text[-1:] in _WRAPPED.values() and not any(opening in text for opening in _WRAPPED):
            text = text[:-1]
    joined = _INSIDE.sub("", text)
    return joined if joined.isalpha() else text.strip("-") and text
