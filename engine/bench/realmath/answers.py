r"""Reading an answer: the formula in its text, without a left side that only names it, as items to compare.

A gold answer may be a sentence around one formula. A model's answer may be a sentence only if its words are known to
carry no meaning (`the answer is`), because a `not` changes everything.
"""

import re
from collections.abc import Sequence
from itertools import accumulate, product

from mage_es.engine.bench.realmath.expressions import Collection, StatedAnswer, StatedItem, Unreadable, relation, stated
from mage_es.engine.bench.realmath.reading import read_expression
from mage_es.engine.bench.realmath.tokens import matching, plain, split_at, squeezed, tokens_of

MOST_SIGNS = 4
"""Most plus-or-minus signs in one item; four make sixteen variants."""
_DISPLAYED = re.compile(r"\$\$|\\\[")
_INLINE = re.compile(r"(?<![\\$])\$(?!\$)|\\\(")
_CLOSED_BY = {"$$": "$$", "\\[": "\\]", "$": "$", "\\(": "\\)"}
_WORD = re.compile(r"(?<!\\)\b[a-zA-Z]{2,}\b")
_LONG_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}")
_NAME = re.compile(r"\\(?:operatorname|mathrm|mathsf|mathbf|mathit)\s*\{[^{}]*\}")
_AND = re.compile(r"\band\b")
_EMPTY = """
the an answer final result value values is are equals equal to given by exactly we have get obtain thus hence therefore
so it that namely of as solution solutions there only unique number total limit sum and formula expression closed form
explicit constant
"""
_SAYING_NOTHING = frozenset(_EMPTY.split())
_SIGNS = {"<": "<", ">": ">", "\\lt": "<", "\\gt": ">", "\\le": "<=", "\\ge": ">=", "\\ne": "!=", "=": "="}
_SEPARATORS = frozenset([",", ";"])
_OPERATORS = frozenset(["+", "-", "*", "/", "!", "\\cdot", "\\times", "\\frac", "\\sqrt", "\\binom", "\\pm"])
_OPERATOR_NAMES = "operatorname mathrm mathbf mathsf dim deg ker max min lim"
_NAMING = frozenset(f"\\{name}" for name in _OPERATOR_NAMES.split())


def formula_in(text: str, *, is_gold: bool) -> str:
    """Return the formula in an answer, or the whole answer if it is only a formula.

    Raises `Unreadable`: words around the formula may change its meaning, or several formulas are among words.
    """
    for kind in (_DISPLAYED, _INLINE):
        found, around = _formulas(text, kind)
        words = [word.lower() for word in _WORD.findall(plain(around))]
        if len(found) == 1 and (is_gold or _SAYING_NOTHING.issuperset(words)) and (words or kind is _DISPLAYED):
            return found[0]
        if len(found) > 1 and set(words) <= {"and"}:
            return " , ".join(found)
        if found and words:
            raise Unreadable("several formulas among words, or words that may change the meaning")
    return text


def _formulas(text: str, opening: re.Pattern[str]) -> tuple[list[str], str]:
    """Return the formulas between marks of a kind, and the text around them; an unclosed mark is text."""
    found, around, at, unclosed = list[str](), list[str](), 0, set[str]()
    for mark in opening.finditer(text):
        if mark.start() < at or mark[0] in unclosed:
            continue
        end = text.find(_CLOSED_BY[mark[0]], mark.end() + 1)
        if end < 0:
            unclosed.add(mark[0])
            continue
        found.append(text[mark.end() : end])
        around.append(text[at : mark.start()])
        at = end + len(_CLOSED_BY[mark[0]])
    return found, " ".join([*around, text[at:]])


def read_answer(text: str, *, is_gold: bool) -> StatedAnswer:
    """Return the items that an answer states, several for a list or a tuple. Raises `Unreadable`."""
    bare = plain(formula_in(text, is_gold=is_gold))
    listed = _AND.sub(",", bare)
    if _LONG_WORD.search(_NAME.sub("", listed)):
        raise Unreadable("there are words in it")
    tokens = tokens_of(listed)
    parts = [part for part in split_at(tokens, _SEPARATORS) if part]
    if not parts:
        raise Unreadable("it is empty")
    named = [_without_left_side(part) for part in parts]
    return stated([_item(part) for _, part in named], [name for name, _ in named])


def without_left_side(text: str) -> str:
    """Return the right side of an equation whose left side only names it, squeezed; otherwise the whole formula."""
    try:
        return "".join(_without_left_side(tokens_of(plain(text)))[1])
    except Unreadable:
        return squeezed(text)


def _without_left_side(tokens: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name on the left of an equation (or ""), and what it equals."""
    first, *others = split_at(tokens, frozenset(["="]))
    if others and all(others) and _is_naming(first):
        return "".join(token for token in first if token not in "{}"), others[-1]
    return "", list(tokens)


def _is_naming(tokens: Sequence[str]) -> bool:
    """Return whether a left side is a bare symbol, a function of something, or a tuple of symbols."""
    if tokens and (tokens[0], tokens[-1]) in (("(", ")"), ("|", "|")):
        return all(_is_naming(part) for part in split_at(tokens[1:-1], _SEPARATORS))
    shown = _outside(tokens)
    if not shown or shown[0][:1].isdigit() or not _OPERATORS.isdisjoint(shown):
        return False
    letters = [token for token in shown if token.isalpha() or (token.startswith("\\") and token not in _NAMING)]
    return len(letters) <= (2 if shown[0] in _NAMING else 1)


def _outside(tokens: Sequence[str]) -> list[str]:
    """Return the tokens outside all brackets and scripts; a numeric power is kept, as an operator."""
    outside: list[str] = []
    depth, is_script = 0, False
    for place, token in enumerate(tokens):
        if token in "([{|" and not (token == "|" and depth):
            depth += 1
        elif token in ")]}|":
            depth -= 1
            is_script = False
        elif token in "^_":
            is_script = True
            if token == "^" and any(each[:1].isdigit() for each in tokens[place + 1 : place + 3]):
                outside.append("*")
        elif depth == 0 and not is_script:
            outside.append(token)
        elif depth == 0:
            is_script = False
    return outside


def _item(tokens: Sequence[str]) -> StatedItem:
    signs = [place for place, token in enumerate(tokens) if token in ("\\pm", "\\mp")]
    if not signs:
        return _plain_item(tokens)
    if len(signs) > MOST_SIGNS or "\\mp" in tokens:
        raise Unreadable("too many signs of plus-or-minus")
    variants: list[StatedItem] = []
    for chosen in product("+-", repeat=len(signs)):
        variant = list(tokens)
        for place, sign in zip(signs, chosen, strict=True):
            variant[place] = sign
        variants.append(_plain_item(variant))
    return Collection(tuple(variants), is_ordered=False)


def _plain_item(tokens: Sequence[str]) -> StatedItem:
    if not tokens:
        raise Unreadable("an item is empty")
    body = tokens[1:] if tokens[0] in ("+", "-") else tokens
    is_set = body[:1] == ["\\{"] and body[-1] == "\\}"
    if is_set or (body[:1] == ["("] and body[-1] == ")"):
        whole = split_at(body, frozenset())[0]
        parts = split_at(whole[1:-1], _SEPARATORS) if matching(whole, 0) == len(whole) - 1 else []
        if is_set or len(parts) > 1:
            sign = ["-"] if tokens[0] == "-" else []
            return Collection(tuple(_item([*sign, *part]) for part in parts), is_ordered=not is_set)
    sides = split_at(tokens, frozenset(_SIGNS))
    if len(sides) == 1:
        return read_expression(tokens)
    ends = accumulate((len(side) + 1 for side in sides[:-1]), initial=-1)
    return relation([_SIGNS[tokens[end]] for end in list(ends)[1:]], [read_expression(side) for side in sides])
