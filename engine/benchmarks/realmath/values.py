"""The value of an expression for given numbers: exact where possible, to 40 digits elsewhere.

Rules
    - Work is bounded by counting, not by a clock: an expression has the same value, or none, on every machine.
    - What is too large, undefined or without a plain value (an infinite sum) raises `NoValue`.
    - An undefined function has some value for each argument, the same in both answers that are compared.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from mage_es.engine.benchmarks.realmath.expressions import Application, Expression, Number, Variable
from mage_es.events.errors import PrerequisiteError

Numeric = Any
"""A Fraction if exact, else a real or complex number of `_arithmetic`."""

DIGITS = 40
MOST_STEPS = 20_000
"""Nodes that one evaluation may visit, the terms of sums included."""
_MOST_TERMS = 500
_MOST_BITS = 8192
_LARGEST = 1_000_000
"""Largest argument of a factorial, and largest logarithm of a power."""


class NoValue(ArithmeticError):
    """An expression has no value at a point, or only one that is too costly."""


class Evaluation:
    """Evaluates expressions at one point, with a budget of steps for all of them. [section 4, RealMath, the metric]"""

    def __init__(self, point: Mapping[str, Fraction]) -> None:
        self._names: dict[str, Numeric] = dict(point)
        self._left = MOST_STEPS

    def value(self, expression: Expression) -> Numeric:
        self._left -= 1
        if self._left < 0:
            raise NoValue("too much work")
        if isinstance(expression, Number):
            return expression.value
        if isinstance(expression, Variable):
            return self._names[expression.name]
        if expression.head in ("sum", "product"):
            return self._repeated(expression)
        args = [self.value(part) for part in expression.args]
        try:
            return _applied(expression.head, args)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise NoValue(f"{expression.head}: {error}") from error

    def _repeated(self, expression: Application) -> Numeric:
        index, low, high, body = expression.args
        assert isinstance(index, Variable)
        first, last = _integer(self.value(low)), _integer(self.value(high))
        if last - first >= _MOST_TERMS:
            raise NoValue(f"{last - first + 1} terms")
        hidden = self._names.get(index.name)
        total: Numeric = Fraction(0 if expression.head == "sum" else 1)
        for place in range(first, last + 1):
            self._names[index.name] = Fraction(place)
            term = self.value(body)
            total = _sum(total, term) if expression.head == "sum" else _product(total, term)
        if hidden is None:
            self._names.pop(index.name, None)
        else:
            self._names[index.name] = hidden
        return total


def is_near(one: Numeric, other: Numeric) -> bool:
    """Return whether two values are equal: exactly if both are exact, else to nine digits."""
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one == other
    left, right = _real(one), _real(other)
    size = max(abs(left), abs(right))
    return bool(abs(left - right) <= 1e-9 * size or size < 1e-30)


@lru_cache(maxsize=1)
def _arithmetic() -> Any:
    """Return a private context: the precision of the library's shared one can be changed by any other user of it."""
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


def _real(value: Numeric) -> Numeric:
    mp = _arithmetic()
    return mp.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _integer(value: Numeric) -> int:
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    raise NoValue("no whole number")


def _checked(value: Numeric) -> Numeric:
    """Return an exact value, rounded if it has too many digits."""
    if isinstance(value, Fraction):
        large = max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS
        return _real(value) if large else value
    if not _arithmetic().isfinite(value):
        raise NoValue("infinite")
    return value


def _sum(one: Numeric, other: Numeric) -> Numeric:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return _checked(one + other)
    return _checked(_real(one) + _real(other))


def _product(one: Numeric, other: Numeric) -> Numeric:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return _checked(one * other)
    return _checked(_real(one) * _real(other))


def _quotient(one: Numeric, other: Numeric) -> Numeric:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return _checked(one / other)
    return _checked(_real(one) / _real(other))


def _power(base: Numeric, exponent: Numeric) -> Numeric:
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


def _factorial(value: Numeric) -> Numeric:
    if isinstance(value, Fraction) and value.denominator == 1 and 0 <= value <= 500:
        return _checked(Fraction(math.factorial(int(value))))
    return _special("factorial", value)


def _binomial(upper: Numeric, lower: Numeric) -> Numeric:
    if all(isinstance(each, Fraction) and each.denominator == 1 for each in (upper, lower)) and abs(upper) <= 1000:
        below = int(lower)
        if below < 0:
            return Fraction(0)
        if upper >= 0:
            return _checked(Fraction(math.comb(int(upper), below)))
    return _special("binomial", upper, lower)


def _special(name: str, *args: Numeric) -> Numeric:
    """Refuse a call whose cost, which grows with its arguments, would be too high."""
    given = [_real(each) for each in args]
    if any(abs(each) > _LARGEST for each in given):
        raise NoValue("too large an argument")
    return _checked(getattr(_arithmetic(), name)(*given))


def _rounded(towards: Callable[[Fraction], int], name: str) -> Callable[[Numeric], Numeric]:
    def rounded(value: Numeric) -> Numeric:
        if isinstance(value, Fraction):
            return Fraction(towards(value))
        if _arithmetic().im(value):
            raise NoValue("no real number")
        return Fraction(int(getattr(_arithmetic(), name)(value)))

    return rounded


def _extreme(choose: Callable[[list[Numeric]], Numeric]) -> Callable[..., Numeric]:
    return lambda *args: choose(list(args)) if all(isinstance(each, Fraction) for each in args) else choose(
        [_real(each) for each in args]
    )  # fmt: skip


def _undefined(name: str, args: list[Numeric]) -> Fraction:
    """Return a value for a function without definition: a number derived from its name and arguments."""
    shown = ",".join(str(_arithmetic().nstr(_real(each), 15)) for each in args)
    digest = hashlib.sha256(f"{name}({shown})".encode()).digest()
    return Fraction(1 + int.from_bytes(digest[:4], "big"), 2**31)


_FUNCTIONS: Mapping[str, Callable[..., Numeric]] = {
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


def _applied(head: str, args: list[Numeric]) -> Numeric:
    if head in ("add", "multiply"):
        total: Numeric = Fraction(head == "multiply")
        for each in args:
            total = _sum(total, each) if head == "add" else _product(total, each)
        return total
    if head in LIBRARY:
        return _special(LIBRARY[head], *args)
    if head.startswith("of "):
        return _undefined(head, args)
    return _checked(_FUNCTIONS[head](*args))
