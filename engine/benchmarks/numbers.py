"""Scoring a reply whose answer is one number: GSM8K's official rule, and a numeric comparison.

The official rule (openai/grade-school-math, grade_school_math/dataset.py) finds the first `#### ` followed by digits,
points and commas, deletes the commas and compares strings: `#### 18.0` is not `18`. That is `strict`. A reply is right
if it is strictly right, or if the number it ends with equals the expected one.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from mage_es.engine.seams.benchmark import Verdict
from mage_es.engine.seams.extraction import final_answer

ANSWER_FORMAT = 'Finish with a line "#### <number>".'
INSTRUCTION = "Work step by step, each step as an equation."
INVALID = "[invalid]"

_OFFICIAL = re.compile(r"#### (-?[0-9.,]+)")
_TOLERANCE = Decimal("1e-6")
_LONGEST = 64
_SPACING = re.compile(r"\\[()\[\] ,;:!]")
_WRAPPED = re.compile(r"\\(?:boxed|text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_CURRENCY = "$€£¥₹"
_NUMBER = re.compile(
    rf"(?P<sign>[-+−]?)\s*[{_CURRENCY}]?\s*(?P<sign2>[-+−]?)\s*"
    r"(?P<digits>[0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)"
    rf"\s*(?:%|[{_CURRENCY}])?(?:\s*[^\W\d_][^\d=]*)?"
)


def official_answer(text: str) -> str:
    """Return what upstream's evaluation extracts from a text, `[invalid]` if its pattern does not occur."""
    found = _OFFICIAL.search(text)
    return found[1].replace(",", "") if found else INVALID


def number_in(reply: str) -> str:
    """Return the number after the marker, else the final answer. Never raises."""
    return final_answer(reply, _marked)


def score_number(gold: str, reply: str) -> Verdict:
    """`gold` has the official form, no commas. Never raises."""
    strict_answer = official_answer(reply)
    if strict_answer == gold:
        return Verdict(answer=strict_answer, score=1.0, strict=True)
    answer = number_in(reply)
    return Verdict(answer=answer, score=1.0 if _is_same(answer, gold) else 0.0, strict=False)


def _marked(text: str) -> str | None:
    found = official_answer(text)
    return None if found == INVALID else found


def _is_same(answer: str, gold: str) -> bool:
    given, expected = read_number(answer), read_number(gold)
    if given is None or expected is None:
        return False
    return abs(given - expected) <= _TOLERANCE * max(Decimal(1), abs(expected))


def read_number(text: str) -> Decimal | None:
    """Return the number that a text states, None if it is anything but one number.

    Leading hashes, surrounding `$...$`, currency signs, thousands commas, LaTeX markup and a trailing unit or `%`
    are dropped; a text with a second number, or with words in front, is not a number.
    """
    plain = _undressed(text.strip().lstrip("#").strip())
    if len(plain) > 2 and plain.startswith("$") and plain.endswith("$"):
        plain = plain.strip("$").strip()
    if len(plain) > _LONGEST or not (found := _NUMBER.fullmatch(plain)):
        return None
    if found["sign"] and found["sign2"]:
        return None
    sign = "-" if (found["sign"] or found["sign2"]) in {"-", "−"} else ""
    try:
        return Decimal(sign + found["digits"].replace(",", ""))
    except InvalidOperation:
        return None


def _undressed(text: str) -> str:
    r"""Remove the LaTeX around a number, such as `\$`, `{,}`, `\boxed{18 \text{ eggs}}`."""
    if len(text) > 4 * _LONGEST or ("\\" not in text and "{" not in text):
        return text
    plain = _SPACING.sub(" ", text.replace("{,}", ",")).replace("\\$", "$").replace("\\%", "%")
    while (bare := _WRAPPED.sub(r" \1 ", plain)) != plain:
        plain = bare
    return " ".join(plain.replace("$ ", "$").replace(" $", "$").split())
