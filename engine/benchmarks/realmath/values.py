"""What an expression comes to where its symbols stand for numbers, exactly where it can be and to 40 digits elsewhere.

Rules
    - Work is bounded by counting, not by a clock: the same expression has the same value, or none, on every machine.
    - What is too large, is undefined or has no plain value (a sum without end) is `NoValue`.
    - A function that nobody defined has a value of its own for every argument, the same on both sides.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from mage_es.engine.benchmarks.realmath.expressions import Call, Expression, Number, Symbol
from mage_es.events.errors import PrerequisiteError

Value = Any
"""A Fraction where it is exact, else a real or complex number of the arithmetic's own."""

DIGITS = 40
MOST_STEPS = 20_000
"""Nodes that one evaluation may visit, the terms of sums included."""
_MOST_TERMS = 500
_MOST_BITS = 8192
_LARGEST = 1_000_000
"""Largest argument of a factorial, and largest logarithm of a power."""


class NoValue(ArithmeticError):
    """An expression has no value at a point, or none that is worth the work."""


class Evaluation:
    """Evaluates expressions at one point, with a budget of steps for all of them."""

    def __init__(self, point: Mapping[str, Fraction]) -> None:
        self._names: dict[str, Value] = dict(point)
        self._left = MOST_STEPS

    def value(self, expression: Expression) -> Value:
        """Return the value. Raises `NoValue`."""
        self._left -= 1
        if self._left < 0:
            raise NoValue("too much work")
        if isinstance(expression, Number):
            return expression.value
        if isinstance(expression, Symbol):
            return self._names[expression.name]
        if expression.head in ("sum", "product"):
            return self._repeated(expression)
        args = [self.value(part) for part in expression.args]
        try:
            return _applied(expression.head, args)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise NoValue(f"{expression.head}: {error}") from error

    def _repeated(self, expression: Call) -> Value:
        index, low, high, body = expression.args
        assert isinstance(index, Symbol)
        first, last = _integer(self.value(low)), _integer(self.value(high))
        if last - first >= _MOST_TERMS:
            raise NoValue(f"{last - first + 1} terms")
        hidden = self._names.get(index.name)
        total: Value = Fraction(0 if expression.head == "sum" else 1)
        for place in range(first, last + 1):
            self._names[index.name] = Fraction(place)
            term = self.value(body)
            total = _sum(total, term) if expression.head == "sum" else _product(total, term)
        if hidden is None:
            self._names.pop(index.name, None)
        else:
            self._names[index.name] = hidden
        return total


def is_near(one: Value, other: Value) -> bool:
    """Return whether two values are equal: exactly if both are exact, else to nine digits."""
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one == other
    left, right = _real(one), _real(other)
    size = max(abs(left), abs(right))
    return bool(abs(left - right) <= 1e-9 * size or size < 1e-30)


@lru_cache(maxsize=1)
def _arithmetic() -> Any:
    """Return an arithmetic of our own: the library's shared one has a precision that anybody may change."""
    try:
        from mpmath import MPContext
    except ImportError as error:
        raise PrerequisiteError(
            "RealMath's rule needs arithmetic of many digits, which is not installed. "
            "Run: python -m pip install 'mage-es[benchmarks]'"
        ) from error
    arithmetic = MPContext()
    arithmetic.dps = DIGITS
    return arithmetic


def _real(value: Value) -> Value:
    """Return a value in the arithmetic of many digits."""
    mp = _arithmetic()
    return mp.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _integer(value: Value) -> int:
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    raise NoValue("no whole number")


def _checked(value: Value) -> Value:
    """Return an exact value as it is, or rounded where its digits have become too many."""
    if isinstance(value, Fraction):
        large = max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS
        return _real(value) if large else value
    if not _arithmetic().isfinite(value):
        raise NoValue("infinite")
    return value


def _sum(one: Value, other: Value) -> Value:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return _checked(one + other)
    return _checked(_real(one) + _real(other))


def _product(one: Value, other: Value) -> Value:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return _checked(one * other)
    return _checked(_real(one) * _real(other))


def _quotient(one: Value, other: Value) -> Value:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return _checked(one / other)
    return _checked(_real(one) / _real(other))


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if bits * abs(exponent) <= _MOST_BITS:
            return base ** int(exponent)
    mp = _arithmetic()
    base, exponent = _real(base), _real(exponent)
    if base == 0:
        if mp.re(exponent) > 0:
            return Fraction(0)
        raise NoValue("a power of zero")
    if abs(exponent) > _LARGEST or abs(exponent * mp.log(base)) > _LARGEST:
        raise NoValue("too large a power")
    return _checked(mp.power(base, exponent))


def _factorial(value: Value) -> Value:
    if isinstance(value, Fraction) and value.denominator == 1 and 0 <= value <= 500:
        return _checked(Fraction(math.factorial(int(value))))
    return _special("factorial", value)


def _binomial(upper: Value, lower: Value) -> Value:
    if all(isinstance(each, Fraction) and each.denominator == 1 for each in (upper, lower)) and abs(upper) <= 1000:
        below = int(lower)
        if below < 0:
            return Fraction(0)
        if upper >= 0:
            return _checked(Fraction(math.comb(int(upper), below)))
    return _special("binomial", upper, lower)


def _special(name: str, *args: Value) -> Value:
    """Return a function of the library, whose cost grows with the size of what it is given."""
    given = [_real(each) for each in args]
    if any(abs(each) > _LARGEST for each in given):
        raise NoValue("too large an argument")
    return _checked(getattr(_arithmetic(), name)(*given))


def _rounded(towards: Callable[[Fraction], int], name: str) -> Callable[[Value], Value]:
    def rounded(value: Value) -> Value:
        if isinstance(value, Fraction):
            return Fraction(towards(value))
        if _arithmetic().im(value):
            raise NoValue("no real number")
        return Fraction(int(getattr(_arithmetic(), name)(value)))

    return rounded


def _extreme(choose: Callable[[list[Value]], Value]) -> Callable[..., Value]:
    return lambda *args: choose(list(args)) if all(isinstance(each, Fraction) for each in args) else choose(
        [_real(each) for each in args]
    )  # fmt: skip


def _undefined(name: str, args: list[Value]) -> Fraction:
    """Return the value of a function that is only a name: a number that depends on the name and the arguments."""
    shown = ",".join(str(_arithmetic().nstr(_real(each), 15)) for each in args)
    digest = hashlib.sha256(f"{name}({shown})".encode()).digest()
    return Fraction(1 + int.from_bytes(digest[:4], "big"), 2**31)


_FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "negative": lambda value: _product(Fraction(-1), value),
    "divide": _quotient,
    "power": _power,
    "factorial": _factorial,
    "binomial": _binomial,
    "floor": _rounded(math.floor, "floor"),
    "ceiling": _rounded(math.ceil, "ceil"),
    "absolute": abs,
    "min": _extreme(min),
    "max": _extreme(max),
    "pi": lambda: +_arithmetic().pi,
    "e": lambda: +_arithmetic().e,
    "i": lambda: _arithmetic().mpc(0, 1),
}
LIBRARY = {
    "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "exp": "exp", "log": "log", "gamma": "gamma", "zeta": "zeta", "lambertw": "lambertw",
}  # fmt: skip
"""Functions that the library computes, by our name."""


def _applied(head: str, args: list[Value]) -> Value:
    if head in ("add", "multiply"):
        total: Value = Fraction(head == "multiply")
        for each in args:
            total = _sum(total, each) if head == "add" else _product(total, each)
        return total
    if head in LIBRARY:
        return _special(LIBRARY[head], *args)
    if head.startswith("of "):
        return _undefined(head, args)
    return _checked(_FUNCTIONS[head](*args))
