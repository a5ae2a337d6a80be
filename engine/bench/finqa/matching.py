"""The paper's metric for FinQA: numbers match within one per cent, whether written as percentages or decimals.

The paper leaves the scale open. Our choice is generous: an answer counts even if it is a hundred times too large or too
small. Only one plain decimal number is an answer: no fractions, ranges, or units beyond the listed words.

One per cent alone would accept 53.08 % for 53.57 %, which is a different number. So the two must also be equal when
both are rounded to the digits of the one with fewer. The strict form is the paper's one per cent alone.
"""

import re
from decimal import Decimal, InvalidOperation, localcontext
from typing import NamedTuple

from mage_es.engine.seams.answer_form import answer_in_form
from mage_es.engine.seams.extraction import plain_answer, read_answer, trimmed

TOLERANCE = Decimal("0.01")
"""The relative tolerance; the paper's 1 %."""
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

_YES_NO = ("yes", "no")
_TRUTHS = {"true": "yes", "false": "no"}
_OPENING = re.compile(r"\W*(yes|no)\b(?=[,.;:!]|\s+(?:it|they|the)\b)", re.IGNORECASE)
_BETWEEN_ANSWERS = re.compile(r"\s?(?:\w{1,12}\s)?(?:or|and|to|,\s?or|,\s?and|['\"]?,\s?['\"]?)\s?")
_AMBIGUOUS = "several"
"""Represents a reply with two numbers to choose from: it is not a number, and so it is wrong."""


class StatedAmount(NamedTuple):
    """`is_percentage`: it has a percent sign, as 34.7 has in `34.7%`."""

    number: Decimal
    is_percentage: bool


def answer_in(reply: str) -> str:
    """Return the number, or the yes or no, in the last mark or else in the last line; otherwise the text."""
    return read_answer(reply, _read) or plain_answer(reply)


def formal_answer_in(reply: str) -> str:
    """Return the answer in the required form if it is a number, yes or no; else the last number in it."""
    span = answer_in_form(reply)
    if read_amount(span) is not None or _word(span) in _YES_NO:
        return span
    tokens = _NUMBER_LIKE.findall(span.translate(_SIGNS))
    return tokens[-1].strip() if tokens else span


def _read(text: str) -> str | None:
    span = trimmed(text)
    if read_amount(span) is not None or _word(span) in _YES_NO:
        return span
    if (truth := _TRUTHS.get(_word(span))) is not None:
        return truth
    plain = span.translate(_SIGNS)
    if word := _OPENING.match(plain):
        return word[1].lower()
    tokens = list(_NUMBER_LIKE.finditer(plain))
    if not tokens:
        return None
    if len(tokens) > 1 and _BETWEEN_ANSWERS.fullmatch(plain, tokens[-2].end(), tokens[-1].start()):
        return _AMBIGUOUS
    return tokens[-1][0].strip()


def is_match(prediction: str, gold: str, *, percent_strict: bool = False, within_percent: bool = False) -> bool:
    """Return whether a prediction matches the gold, a number in Python's notation or `yes` or `no`. Never raises.

    [section 4, FinQA, the metric] A number matches as it is, divided or multiplied by 100, whatever sign follows it,
    within 1 % and to the digits that both have; the sign must agree. The gold is the executed result: the display
    answer often contradicts it. `percent_strict` divides by 100 only what is written with a `%`, and never multiplies.
    `within_percent` is the paper's metric: within 1 %, whatever the digits.
    """
    if gold in _YES_NO:
        return _word(prediction) == gold
    found = read_amount(prediction)
    if found is None:
        return False
    number, is_percentage = found
    with localcontext() as context:
        context.prec = 2 * _LONGEST
        expected = Decimal(gold)
        candidates = [number]
        if is_percentage or not percent_strict:
            candidates.append(number.scaleb(-2))
        if not percent_strict:
            candidates.append(number.scaleb(2))
        near = [candidate for candidate in candidates if _is_near(candidate, expected)]
        return bool(near) if within_percent else any(_is_rounded(candidate, expected) for candidate in near)


def read_amount(text: str) -> StatedAmount | None:
    """Return None for anything but one number. [section 4, FinQA, the metric]"""
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
    return StatedAmount(-abs(number) if is_negative else number, is_percentage)


def _is_rounded(number: Decimal, expected: Decimal) -> bool:
    """Return whether two numbers agree to within half a unit of the last digit of the one with fewer decimals."""
    unit = Decimal(1).scaleb(max(_last_place(number), min(0, _last_place(expected.normalize()))))
    return expected == 0 or abs(number - expected) <= unit / 2 * _SLACK


def _last_place(number: Decimal) -> int:
    return int(number.as_tuple().exponent)


def _word(text: str) -> str:
    return text.strip().lower().rstrip(".!").rstrip()


def _is_near(number: Decimal, expected: Decimal) -> bool:
    if expected == 0:
        return abs(number) <= _NEAR_ZERO
    return abs(number - expected) <= TOLERANCE * abs(expected) * _SLACK
