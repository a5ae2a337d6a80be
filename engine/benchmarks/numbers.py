r"""Scoring a reply whose answer is one number: GSM8K's official rule, and a numeric comparison.

The official rule (openai/grade-school-math, grade_school_math/dataset.py) finds the first `#### ` followed by digits,
points and commas, deletes the commas and compares strings: `#### 18.0` is not `18`. That is `strict`. A reply is right
if it is strictly right, or if the number it ends with equals the expected one.

The number is read from the last answer mark: the marked text itself if it is a number (with currency, unit, LaTeX),
else a number at its front ("18, because"), else the only one in bold, else the one after the last `=`, else the last
one. If a box holds more than a number, the text that it equals is a mark (`\boxed{9 * 2} = 18`); a box that only names
a number (`number`, `X`) is not a mark. Without a mark, the last line with a number is read in the same way. Two
alternative numbers ("18 or 20") are not an answer.
"""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from mage_es.engine.seams.benchmark import Verdict
from mage_es.engine.seams.extraction import final_answer, marked_answers, only_names, refuses, said, trimmed

# A number in it would be copied: SmolLM2-135M did so in three of seven replies.
ANSWER_FORMAT = 'Finish with a line that has "#### <>" and then the number alone.'
INSTRUCTION = "Work step by step in equations."
INVALID = "[invalid]"

_OFFICIAL = re.compile(r"#### (-?[0-9.,]+)")
_TOLERANCE = Decimal("1e-6")
_LONGEST = 64
_SPACING = re.compile(r"\\[()\[\] ,;:!]")
_WRAPPED = re.compile(r"\\(?:boxed|text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_CURRENCY = "$€£¥₹"
_DIGITS = r"(?:[0-9]{1,3}(?:[,\u00a0\u202f\u2009'’][0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:[.,][0-9]+)*|\.[0-9]+)"
_AMOUNT = (
    rf"(?<![\w.,:^/])(?:(?<![\w)])[-+−]\s?)?(?:[{_CURRENCY}]\s?)?[-−]?{_DIGITS}(?!:[0-9])(?:\s?/\s?[0-9]+(?![\w/]))?"
    rf"(?:\s?[%{_CURRENCY}])?(?:[ ](?:thousand|million|billion|trillion)\b)?"
)
_FOUND = re.compile(_AMOUNT)
_BOLD = re.compile(r"\*\*([^*\n]{1,80})\*\*")
_ALTERNATIVE = re.compile(
    rf"({_AMOUNT})(?:\s?[^\W\d_]{{1,12}})?\s?(?:[,;]?\s?\b(?:or|oder|ou|o|to|and|und|et|y)\b|[-–—,;&])\s?"
    rf"(?:maybe\s|perhaps\s|possibly\s)?({_AMOUNT})"
)
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_LONGEST_TEXT = 1000
_MOST_LINES = 2000
_OPERATOR = re.compile(r"\s?(?:[-+*/×÷·^=≈]|x\s?\d|\\(?:times|div|cdot)\b)")
_EXPRESSION = re.compile(
    r"\W{0,3}\d[\d.,]{0,30}(?:[ ()]{0,3}(?:[-+*/×÷·−]|x|times|div|cdot)[ ()$]{0,3}\d[\d.,]{0,30}){1,40}\W{0,3}"
)
_EQUALS = re.compile(r"(?:=|≈|\\approx)")
_HEADING = re.compile(r"\s*(?:\d{1,2}[.):]\s+\S|.*:\s*$)")
_VALUE = re.compile(r"[^\w\n]*(?:[0-9]|\\?boxed|\\[dt]?frac)|[^\n]*=")
_MARKER = re.compile(r"#{4}[ \t\u00a0]*([^#\n][^\n]*)")
_BOX_EQUALS = re.compile(
    r"\\boxed\s?\{((?:[^{}\n]|\{[^{}\n]{0,200}\}){1,400})\}[ ]?(?:\$|\\[)\]])?[ ]?(?:=|≈|\\approx)[ ]?([^\n]{1,200})"
)
_FRACTION = re.compile(r"(-?[0-9]{1,18})\s?/\s?([0-9]{1,18})")
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s*\{\s*(-?[0-9]{1,18})\s*\}\s*\{\s*([0-9]{1,18})\s*\}")
_NUMBER = re.compile(
    rf"(?P<sign>[-+−]?)\s*[{_CURRENCY}]?\s*(?P<sign2>[-+−]?)\s*"
    r"(?P<digits>[0-9][0-9,\u00a0\u202f\u2009'’]*(?:\.[0-9]*)?|\.[0-9]+)"
    rf"\s*(?:%|[{_CURRENCY}])?(?:\s*[^\W\d_][^\d=]*)?"
)


def official_answer(text: str) -> str:
    """Return what upstream's evaluation extracts from a text, `[invalid]` if its pattern does not occur."""
    found = _OFFICIAL.search(text)
    return found[1].replace(",", "") if found else INVALID


def number_in(reply: str) -> str:
    """Return the number that a reply ends with, as it is written there. Never raises.

    "" is a refusal, or two numbers to choose from. If there is no number, it is the final answer as text ("twelve"),
    which a judge can still read.
    """
    text = said(reply, marks)
    contents = [content for content in marked_answers(text, marks) if not only_names(undressed(content))]
    for content in contents:
        if (found := number_of(content)) is not None:
            return found
        if refuses(content):
            return ""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or refuses(lines[-1]):
        return ""
    # If a mark has no number, a number before it is not the marked answer.
    ends = lines[-1:] if contents else reversed(lines[-_MOST_LINES:])
    found = next((found for line in ends if (found := number_of(line)) is not None), None)
    return final_answer(reply, marks) if found is None else found


def marks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text after each `####`, except headings (`#### 1. First`, `#### Cost of 3 eggs`, `#### Step 2:`), and
    the text that a box with more than a number equals."""
    end = len(text.rstrip())
    for marker in _MARKER.finditer(text):
        is_value = _VALUE.match(marker[1]) is not None or marker.end() >= end
        if is_value and not _HEADING.match(marker[1]):
            yield marker.start(), marker[1]
    for box in _BOX_EQUALS.finditer(text):
        if not _values(box[1]):
            yield box.start(2), box[2]


def number_of(text: str) -> str | None:
    """Return the number that a text states, None if it has none, or "" if it has two to choose from or to add up."""
    plain = trimmed(undressed(text[:_LONGEST_TEXT].strip()))
    if _values(plain):
        return plain
    bold = {number for each in _BOLD.findall(plain) if _values(number := trimmed(each))}
    if len(bold) == 1:
        return bold.pop()
    plain = plain.replace("**", "").replace("\\", " ")
    if _EXPRESSION.fullmatch(plain):
        return ""
    sides = _EQUALS.split(plain)
    for side in reversed(sides):
        if not (numbers := list(_FOUND.finditer(side))):
            continue
        first, last = numbers[0], numbers[-1]
        two = next((two for two in _ALTERNATIVE.finditer(side) if two.end() == last.end()), None)
        if two and not _is_same(two[1], two[2]):
            return ""
        is_leading = not re.search(r"\w", side[: first.start()])
        if is_leading and len(numbers) > 1 and _OPERATOR.match(side, first.end()) and len(sides) > 1:
            continue
        return (first if is_leading and not _OPERATOR.match(side, first.end()) else last)[0].strip()
    return None


def score_number(gold: str, reply: str) -> Verdict:
    """`gold` is in the official form, without commas. Never raises."""
    strict_answer = official_answer(reply)
    if strict_answer == gold:
        return Verdict(answer=strict_answer, score=1.0, strict=True)
    answer = number_in(reply)
    return Verdict(answer=answer, score=1.0 if _is_same(answer, gold) else 0.0, strict=False)


def _is_same(answer: str, gold: str) -> bool:
    return any(
        abs(given - expected) <= _TOLERANCE * max(Decimal(1), abs(expected))
        for given in _values(answer)
        for expected in _values(gold)
    )


def _values(text: str) -> list[Decimal]:
    """Return the numbers that a text may state: `3/4` is a quotient, `2.5 million` is 2.5 (of millions) or
    2,500,000."""
    plain = undressed(text.strip())
    if fraction := _FRACTION.fullmatch(plain.strip("$ ")):
        return [Decimal(fraction[1]) / Decimal(fraction[2])] if int(fraction[2]) else []
    if (number := read_number(text)) is None:
        return []
    scale = next((scale for word, scale in _SCALES.items() if word in plain), None)
    return [number, number * scale] if scale else [number]


def read_number(text: str) -> Decimal | None:
    """Return the number that a text states, or None if it is not exactly one number.

    Leading hashes, surrounding `$...$`, currency signs, thousands commas, LaTeX markup and a trailing unit or `%`
    are dropped; a text with a second number, or with words in front, is not a number.
    """
    plain = undressed(text.strip().lstrip("#").strip())
    if len(plain) > 2 and plain.startswith("$") and plain.endswith("$"):
        plain = plain.strip("$").strip()
    if len(plain) > _LONGEST or not (found := _NUMBER.fullmatch(plain)):
        return None
    if found["sign"] and found["sign2"]:
        return None
    sign = "-" if (found["sign"] or found["sign2"]) in {"-", "−"} else ""
    try:
        return Decimal(sign + _grouped(found["digits"]))
    except InvalidOperation:
        return None


def _grouped(digits: str) -> str:
    """Return digits without thousands separators; a comma before the last one or two digits is a decimal comma."""
    whole, _, rest = digits.rpartition(",")
    if whole.isdigit() and len(rest) in (1, 2) and rest.isdigit():
        return f"{whole}.{rest}"
    return re.sub(r"[^0-9.]", "", digits)


def undressed(text: str) -> str:
    r"""Remove the LaTeX around a number, such as `\$`, `{,}`, `\boxed{18 \text{ eggs}}`."""
    if len(text) > 4 * _LONGEST or ("\\" not in text and "{" not in text):
        return text
    plain = (
        _SPACING.sub(" ", _LATEX_FRACTION.sub(r"\1/\2", text.replace("{,}", ",").replace("\\,", "")))
        .replace("\\$", "$")
        .replace("\\%", "%")
    )
    while (bare := _WRAPPED.sub(r" \1 ", plain)) != plain:
        plain = bare
    return " ".join(plain.replace("$ ", "$").replace(" $", "$").split())
