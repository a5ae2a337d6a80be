"""Equations in reasoning: `48 / 2 = 24`, `$3 x 4 = $12`, `5 apples * (2 + 1) = 15 apples`, `20% of 50 = 10`.

Only equations whose two sides agree, up to the rounding of the printed result, count. Work is bounded.
"""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import NamedTuple, TypeVar

from mage_es.engine.players.arithmetic.words import LONGEST_TEXT

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

T = TypeVar("T")
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
    return reduced(expression, _computed)


def reduced(items: Sequence[T | str], compute: Callable[[T, str, T], T | None]) -> T | None:
    """Return the value of an expression in infix order; None if malformed, or if an operation computes None."""
    values: list[T] = []
    waiting: list[str] = []

    def reduce_from(rank: int) -> bool:
        """Carry out the last waiting operations of this rank or above; a bracket that is still open has rank 0."""
        while waiting and _RANK.get(waiting[-1], 0) >= rank:
            if len(values) < 2 or waiting[-1] not in _RANK:
                return False
            right, left = values.pop(), values.pop()
            value = compute(left, waiting.pop(), right)
            if value is None:
                return False
            values.append(value)
        return True

    for item in items:
        if not isinstance(item, str):
            values.append(item)
        elif item == "(":
            waiting.append(item)
        elif item == ")":
            if not reduce_from(1) or not waiting:
                return None
            waiting.pop()
        elif reduce_from(_RANK[item]):
            waiting.append(item)
        else:
            return None
    return values[0] if reduce_from(0) and len(values) == 1 else None


def _computed(left: Fraction, operator: str, right: Fraction) -> Fraction | None:
    if operator == "/" and not right:
        return None
    value: Fraction = _COMPUTED[operator](left, right)
    return value if abs(value.numerator) <= _LARGEST and value.denominator <= _LARGEST else None


def is_close(exact: Fraction, printed: Fraction) -> bool:
    gap = abs(exact - printed)
    return not gap or (printed.denominator > 1 and gap <= Fraction(1, 100) and gap * 50 <= abs(exact))


def to_text(value: Fraction) -> str:
    """Return an integer without a decimal point, and any other number as a decimal of at most six places."""
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
