"""Equations in reasoning: `48 / 2 = 24`, `$3 x 4 = $12`, `5 apples * (2 + 1) = 15 apples`, `20% of 50 = 10`.

Rules
    - Only equations whose two sides agree (up to the rounding of the printed result) are returned.
    - Work is bounded: at most `MOST_EQUATIONS` per text, `LONGEST_EXPRESSION` items each, no recursion.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from mage_es.engine.models.arithmetic.words import LONGEST_TEXT

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

Item = Fraction | str
"""A number, or one of + - * / ( )."""


class Equation(NamedTuple):
    """`expression` in infix order, and its exact value."""

    expression: tuple[Item, ...]
    value: Fraction


def find_equations(text: str) -> list[Equation]:
    """Return the equations of a text, line by line; calculator annotations are passed over."""
    found: list[Equation] = []
    for line in _ANNOTATION.sub("", text[:LONGEST_TEXT]).splitlines():
        items = _items(line)
        for at, item in enumerate(items):
            if item == "=" and len(found) < MOST_EQUATIONS:
                equation = _equation(items, at)
                if equation is not None:
                    found.append(equation)
    return found


def _items(line: str) -> list[Item]:
    """Return numbers, operators, `=` and, for every run of words, one `w`."""
    items: list[Item] = []
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


def _equation(items: Sequence[Item], at: int) -> Equation | None:
    """Read the equation around the `=` at `at`, or return None if it is none."""
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


def _left_side(items: Sequence[Item], at: int) -> list[Item]:
    """Collect the longest expression that ends before `at`; units between a number and an operator are skipped."""
    taken: list[Item] = []
    at -= 1
    expects_operand = True
    while at >= 0 and len(taken) < LONGEST_EXPRESSION:
        item = items[at]
        if item == "w":
            if not expects_operand:
                break
        elif item == "=":
            break
        elif isinstance(item, Fraction):
            if not expects_operand:
                break
            taken.append(item)
            expects_operand = False
        elif item in _RANK:
            if expects_operand:
                break
            taken.append(item)
            expects_operand = True
        elif item == ")":
            if not expects_operand:
                break
            taken.append(item)
        else:
            if expects_operand:
                break
            taken.append(item)
        at -= 1
    taken.reverse()
    return _balanced(taken)


def _balanced(items: list[Item]) -> list[Item]:
    """Drop leading operators and unmatched parentheses."""
    while items and not isinstance(items[0], Fraction) and items[0] != "(":
        items = items[1:]
    depth = 0
    for item in reversed(items):
        depth += (item == ")") - (item == "(")
    while depth < 0 and items and items[0] == "(":
        items, depth = items[1:], depth + 1
    return items if depth == 0 else []


def evaluate(expression: Sequence[Item]) -> Fraction | None:
    """Return the exact value of an infix expression; None if it is malformed, divides by zero or overflows."""
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
    if operator == "+":
        value = left + right
    elif operator == "-":
        value = left - right
    else:
        value = left * right if operator == "*" else left / right
    values.append(value)
    return abs(value.numerator) <= _LARGEST and value.denominator <= _LARGEST


def is_close(exact: Fraction, printed: Fraction) -> bool:
    """Return whether a printed number is the exact one, perhaps rounded to two decimals or more."""
    if exact == printed:
        return True
    gap = abs(exact - printed)
    return printed.denominator > 1 and gap <= Fraction(1, 100) and gap * 50 <= abs(exact)


def to_text(value: Fraction) -> str:
    """Print a number: integers without a point, others as decimals of at most six places."""
    if value.denominator == 1:
        return str(value.numerator)
    scaled = round(value * 10**6)
    sign = "-" if scaled < 0 else ""
    whole, rest = divmod(abs(scaled), 10**6)
    return f"{sign}{whole}.{rest:06d}".rstrip("0").rstrip(".")


def print_expression(expression: Sequence[Item]) -> str:
    """Print an expression in infix form, such as `(3 + 4) * 2`."""
    text = " ".join(to_text(item) if isinstance(item, Fraction) else item for item in expression)
    return text.replace("( ", "(").replace(" )", ")")
