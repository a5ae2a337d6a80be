"""Equations in reasoning: `48 / 2 = 24`, `$3 x 4 = $12`, `5 apples * (2 + 1) = 15 apples`, `20% of 50 = 10`.

Only equations whose two sides agree, up to the rounding of the printed result, count. Work is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import NamedTuple

from mage_es.engine.standins.arithmetic.words import LONGEST_TEXT

MOST_EQUATIONS = 24
LONGEST_EXPRESSION = 40
_LARGEST = 10**15

_ANNOTATION = re.compile(r"<<[^<>]*>>")
_ITEM = re.compile(
    r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+)(?P<percent>\s?%)?"
    r"|(?P<operator>[-+*/×÷·−–()]|\b[xX]\b|\bof\b|\btimes\b)"
    r"|(?P<equals>=)"
    r"|(?P<word>[^\s0-9$=+*/()-]+)"
)
_SIGNS = {"×": "*", "·": "*", "x": "*", "X": "*", "of": "*", "times": "*", "÷": "/", "−": "-", "–": "-"}
_RANK = {"+": 1, "-": 1, "*": 2, "/": 2}
_COMPUTED = {"+": add, "-": sub, "*": mul, "/": truediv}

ExpressionItem = Fraction | str
"""A number, or one of + - * / ( )."""


class Equation(NamedTuple):
    expression: tuple[ExpressionItem, ...]
    value: Fraction


def find_equations(text: str) -> list[Equation]:
    found: list[Equation] = []
    for line in _ANNOTATION.sub("", text[:LONGEST_TEXT]).splitlines():
        items = _items(line)
        for at, item in enumerate(items):
            if item == "=" and len(found) < MOST_EQUATIONS:
                equation = _equation(items, at)
                if equation is not None:
                    found.append(equation)
    return found


def _items(line: str) -> list[ExpressionItem]:
    items: list[ExpressionItem] = []
    for match in _ITEM.finditer(line):
        if match.group("number"):
            value = Fraction(match.group("number").replace(",", ""))
            items.append(value / 100 if match.group("percent") else value)
        elif match.group("operator"):
            items.append(_SIGNS.get(match.group("operator"), match.group("operator")))
        elif match.group("equals"):
            items.append("=")
        elif not items or items[-1] != "w":
            items.append("w")
    return items


def _equation(items: Sequence[ExpressionItem], at: int) -> Equation | None:
    right = at + 1
    while right < len(items) and items[right] == "w":
        right += 1
    printed = items[right] if right < len(items) else None
    if not isinstance(printed, Fraction):
        return None
    expression = _left_side(items, at)
    if len(expression) < 3:
        return None
    value = evaluate(expression)
    if value is None or not is_close(value, printed):
        return None
    return Equation(tuple(expression), value)


def _left_side(items: Sequence[ExpressionItem], at: int) -> list[ExpressionItem]:
    """Units between a number and an operator are skipped."""
    taken: list[ExpressionItem] = []
    at -= 1
    expects_operand = True
    while at >= 0 and len(taken) < LONGEST_EXPRESSION:
        item = items[at]
        is_operand = isinstance(item, Fraction) or item in ("w", ")")  # read backwards, a parenthesis opens with `)`
        if item == "=" or is_operand != expects_operand:
            break
        if item != "w":
            taken.append(item)
        if isinstance(item, Fraction) or item in _RANK:
            expects_operand = not expects_operand
        at -= 1
    taken.reverse()
    return _balanced(taken)


def _balanced(items: list[ExpressionItem]) -> list[ExpressionItem]:
    while items and not isinstance(items[0], Fraction) and items[0] != "(":
        items = items[1:]
    depth = 0
    for item in reversed(items):
        depth += (item == ")") - (item == "(")
    while depth < 0 and items and items[0] == "(":
        items, depth = items[1:], depth + 1
    return items if depth == 0 else []


def evaluate(expression: Sequence[ExpressionItem]) -> Fraction | None:
    """Return None if malformed, divided by zero or too large."""
    values: list[Fraction] = []
    waiting: list[str] = []
    for item in expression:
        if isinstance(item, Fraction):
            values.append(item)
        elif item == "(":
            waiting.append(item)
        elif item == ")":
            while waiting and waiting[-1] != "(":
                if not _reduce(values, waiting.pop()):
                    return None
            if not waiting:
                return None
            waiting.pop()
        else:
            while waiting and waiting[-1] != "(" and _RANK[waiting[-1]] >= _RANK[item]:
                if not _reduce(values, waiting.pop()):
                    return None
            waiting.append(item)
    while waiting:
        if not _reduce(values, waiting.pop()):
            return None
    return values[0] if len(values) == 1 else None


def _reduce(values: list[Fraction], operator: str) -> bool:
    if len(values) < 2 or operator not in _RANK:
        return False
    right, left = values.pop(), values.pop()
    if operator == "/" and not right:
        return False
    value: Fraction = _COMPUTED[operator](left, right)
    values.append(value)
    return abs(value.numerator) <= _LARGEST and value.denominator <= _LARGEST


def is_close(exact: Fraction, printed: Fraction) -> bool:
    gap = abs(exact - printed)
    return not gap or (printed.denominator > 1 and gap <= Fraction(1, 100) and gap * 50 <= abs(exact))


def to_text(value: Fraction) -> str:
    """Integers without a point, others as decimals of at most six places."""
    if value.denominator == 1:
        return str(value.numerator)
    scaled = round(value * 10**6)
    sign = "-" if scaled < 0 else ""
    whole, rest = divmod(abs(scaled), 10**6)
    return f"{sign}{whole}.{rest:06d}".rstrip("0").rstrip(".")


def to_number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


def print_equation(equation: Equation) -> str:
    text = " ".join(to_text(item) if isinstance(item, Fraction) else item for item in equation.expression)
    return f"{text.replace('( ', '(').replace(' )', ')')} = {to_text(equation.value)}"
