"""LaTeX without anything that only changes its appearance: one normal form for comparing texts, and tokens for
reading."""

import re
from collections.abc import Sequence

from mage_es.engine.bench.realmath.expressions import Unreadable

MOST_TOKENS = 600

_LAYOUT = re.compile(
    r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|nolimits|quad|qquad|newline|nonumber|notag|hfill|"
    r"thinspace|enspace)(?![a-zA-Z])\.?|\\[,;:!> ]|~|\\label\{[^{}]*\}|\\\\\[[^\[\]\\]*\]"
)
_DELIMITER = re.compile(r"\$|\\[()\[\]]")
_BRACE = re.compile(r"(?P<wrapper>\\(?:text|mbox|textbf|textit|textrm|boxed|fbox|ensuremath|emph)\s*\{)|(?<!\\)[{}]")
_FINAL = ".,;:"
_SIZED = re.compile(r"\\[dtc]frac(?![a-zA-Z])")
_SIZED_BINOMIAL = re.compile(r"\\[dt]binom(?![a-zA-Z])")
_SAME = {
    "leq": "le", "geq": "ge", "leqslant": "le", "geqslant": "ge", "neq": "ne", "cdotp": "cdot", "ast": "cdot",
    "lbrace": "{", "rbrace": "}", "lvert": "|", "rvert": "|", "vert": "|", "mid": "|", "lbrack": "[", "rbrack": "]",
    "varepsilon": "epsilon", "varphi": "phi", "vartheta": "theta", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "ln": "log",
}  # fmt: skip
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\.\d+|\S", re.DOTALL)
CLOSED_BY = {"(": ")", "[": "]", "{": "}", "\\{": "\\}", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}
"""The closing bracket of each opening one."""
_CLOSING = frozenset(CLOSED_BY.values())
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:(?:,|\{,\})\d{3})+(?:\.\d+)?")
_UNICODE = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "π": "\\pi ", "≤": "\\le ", "≥": "\\ge ", "′": "'"})


def plain(text: str) -> str:
    """Return a text without delimiters, sizes, spacing and wrappers of words, and without final punctuation."""
    bare = _DELIMITER.sub(" ", _LAYOUT.sub(" ", text.translate(_UNICODE)))
    bare = _SIZED_BINOMIAL.sub(r"\\binom", _SIZED.sub(r"\\frac", bare))
    bare = _without_final(unwrapped(bare).strip())
    if _GROUPED.fullmatch(bare):
        bare = bare.replace("{,}", "").replace(",", "")
    return bare


def squeezed(text: str) -> str:
    """Return a text in a normal form, in which layout makes no difference."""
    return "".join(plain(text).split())


def unwrapped(text: str) -> str:
    """Return a text with a space in place of each wrapper and of the brace that closes it."""
    pieces, start, opened = list[str](), 0, list[bool]()
    for brace in _BRACE.finditer(text):
        if brace[0] != "}":
            opened.append(bool(brace["wrapper"]))
        if brace["wrapper"] or (brace[0] == "}" and opened and opened.pop()):
            pieces.append(text[start : brace.start()])
            start = brace.end()
    return " ".join([*pieces, text[start:]])


def _without_final(text: str) -> str:
    end = len(text)
    while end and text[end - 1] in _FINAL and text[max(end - 2, 0) : end] != "\\,":
        end -= 1
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


def tokens_of(text: str) -> list[str]:
    r"""Return commands, numerals, and single characters; `\{` is a visible brace. Raises `Unreadable`."""
    found = _TOKEN.findall(text)
    if len(found) > MOST_TOKENS:
        raise Unreadable(f"{len(found)} tokens")
    return [_same(token) for token in found]


def _same(token: str) -> str:
    name = token[1:]
    if token.startswith("\\") and name in _SAME:
        same = _SAME[name]
        return f"\\{same}" if same.isalpha() or same in "{}" else same
    return token


def split_at(tokens: Sequence[str], separators: frozenset[str]) -> list[list[str]]:
    """Return the parts between separators outside brackets. Raises `Unreadable` if brackets do not match."""
    parts: list[list[str]] = [[]]
    at = 0
    while at < len(tokens):
        token = tokens[at]
        end = matching(tokens, at) if token in CLOSED_BY else at
        if token in _CLOSING:
            raise Unreadable(f"{token} closes nothing")
        if token in separators:
            parts.append([])
        else:
            parts[-1] += tokens[at : end + 1]
        at = end + 1
    return parts


def matching(tokens: Sequence[str], opening: int) -> int:
    """Return where the bracket that opens at a place closes. Raises `Unreadable`."""
    awaited: list[str] = []
    for place in range(opening, len(tokens)):
        token = tokens[place]
        if token in CLOSED_BY:
            awaited.append(CLOSED_BY[token])
        elif token in _CLOSING and token != awaited.pop():
            break
        if not awaited:
            return place
    raise Unreadable(f"{tokens[opening]} is not closed")
