"""The paper's metric for FinQA: numbers match within one per cent, whether written as percentages or decimals.

What the paper leaves open is fixed here. A number matches as it is, divided by 100 or multiplied by 100, which is
generous: an answer on a scale a hundred times too large counts. `percent_strict` divides by 100 only what is written
with a `%`, and never multiplies.

Rules
    - The sign must agree, which the tolerance sees to; yes and no are matched by yes and no only.
    - No fractions, ranges or units beyond the listed words: what is not one plain decimal number is no answer.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation, localcontext
from typing import NamedTuple

from mage_es.engine.benchmarks.extraction import final_answer

TOLERANCE = Decimal("0.01")
"""Relative; the paper's 1 %."""
_SLACK = 1 + Decimal("1e-9")
_NEAR_ZERO = Decimal("1e-6")
_LONGEST = 64
_CURRENCY = str.maketrans("", "", "$£€¥")
_SIGNS = str.maketrans({"−": "-", "–": "-", "\u00a0": " "})
_UNIT = re.compile(
    r"\s*(?:millions?|billions?|thousands?|dollars?|usd|shares?|units?|years?|times|points?)$", re.IGNORECASE
)
_PERCENT = re.compile(r"\s*percent$", re.IGNORECASE)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_AMOUNT = r"[+-]?\s?[$£€¥]?\s?-?(?>\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?:\s?%|\s?percent\b)?"
_NUMBER_LIKE = re.compile(rf"(?<![\w.,])(?:\(\s?{_AMOUNT}\s?\)|{_AMOUNT})(?!\w)", re.IGNORECASE)


class Amount(NamedTuple):
    """The number that a text states, and whether it is written as a percentage (34.7 for `34.7%`)."""

    number: Decimal
    is_percentage: bool


def answer_in(reply: str) -> str:
    """Return the answer that a reply ends with: its final span, or the last number-like token in that span."""
    span = final_answer(reply, lambda text: None)
    if read_amount(span) is not None or _word(span) in ("yes", "no"):
        return span
    tokens = _NUMBER_LIKE.findall(span.translate(_SIGNS))
    return tokens[-1].strip() if tokens else span


def is_match(prediction: str, gold: str, *, percent_strict: bool = False) -> bool:
    """Return whether a prediction matches the gold. Never raises.

    Args:
        prediction: The answer alone.
        gold: A number in Python's notation, or `yes` or `no`.
        percent_strict: Divide by 100 only what is written with a `%`, and never multiply by 100.
    """
    if gold in ("yes", "no"):
        return _word(prediction) == gold
    found = read_amount(prediction)
    if found is None:
        return False
    number, is_percentage = found
    expected = Decimal(gold)
    candidates = [number]
    if is_percentage or not percent_strict:
        candidates.append(number / 100)
    if not percent_strict:
        candidates.append(number * 100)
    return any(_is_near(candidate, expected) for candidate in candidates)


def read_amount(text: str) -> Amount | None:
    """Return the number that a text states, None if it is anything but one number."""
    plain = text.translate(_SIGNS).translate(_CURRENCY).strip()
    if len(plain) > _LONGEST:
        return None
    plain = _PERCENT.sub("%", _UNIT.sub("", plain))
    is_negative = plain.startswith("(") and plain.endswith(")")
    if is_negative:
        plain = plain[1:-1].strip()
    is_percentage = plain.endswith("%")
    plain = plain.removesuffix("%").strip().replace(",", "")
    if plain.startswith(("-", "+")):
        plain = plain[0] + plain[1:].lstrip()
    if not _DECIMAL.fullmatch(plain):
        return None
    try:
        number = Decimal(plain)
    except InvalidOperation:
        return None
    return Amount(-abs(number) if is_negative else number, is_percentage)


def _word(text: str) -> str:
    return text.strip().lower().rstrip(".!").rstrip()


def _is_near(number: Decimal, expected: Decimal) -> bool:
    with localcontext() as context:
        context.prec = 2 * _LONGEST
        if expected == 0:
            return abs(number) <= _NEAR_ZERO
        return abs(number - expected) <= TOLERANCE * abs(expected) * _SLACK
