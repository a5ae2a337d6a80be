"""The value of an expression for given numbers: exact if possible, otherwise to as many digits as its terms span.

Rules
    - Work is bounded by counting, not by a clock: an expression has the same value, or none, on every machine.
    - What is too large, undefined or without a plain value (an infinite sum) raises `NoValue`.
    - Rounded values are equal if they agree in all computed digits. Enough digits are computed to show the smallest
      term beside the largest: with only nine, e^30 would equal e^30 + 1000.
    - An undefined function gets some value for each argument, the same in both answers. This can show that two answers
      are the same, never that they differ.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from mage_es.engine.bench.realmath.expressions import MAYBE_APPLIED, Application, Expression, Number, Variable
from mage_es.events.errors import PrerequisiteError

Numeric = Any
"""A Fraction if it is exact, else a real or complex number of `_arithmetic`."""

POINTS = 8
_TRIES = 40
DIGITS = 40
MOST_DIGITS = 640
MOST_WORK = 120_000
"""How many units of work a decision may cost, about two microseconds each."""
_GUARD_BITS, _ROUNDED_BITS = 100, 20
"""How many bits must remain below the smallest term, and how many of the last bits rounding may have changed."""
_MOST_TERMS = 500
_MOST_BITS = 8192
_LARGEST = 1_000_000
"""Largest argument of an elementary function, and largest logarithm of a power."""
_LARGEST_OF_SPECIAL, _HIGHEST_OF_ZETA = 10_000, 100
_LARGEST_FACTORIAL = 960


class NoValue(ArithmeticError):
    """An expression has no value at a point, or only one that is too costly."""


class Work:
    """How much work a decision may still cost."""

    def __init__(self, most: int = MOST_WORK) -> None:
        self._left = most

    def spend(self, units: int) -> None:
        self._left -= units
        if self._left < 0:
            raise NoValue("too much work")


def are_equal(one: Expression, other: Expression, point: Mapping[str, Fraction], work: Work) -> bool:
    """Compare the values of two expressions at a point. Raises `NoValue`. [section 4, RealMath, the metric]"""
    digits = DIGITS
    while digits <= MOST_DIGITS:
        evaluation = Evaluation(point, work, digits)
        left, right = evaluation.value(one), evaluation.value(other)
        if evaluation.is_precise or (isinstance(left, Fraction) and isinstance(right, Fraction)):
            return evaluation.is_equal(left, right)
        digits *= 2
    raise NoValue("terms too far apart in size")


def agree(
    one: Expression, other: Expression, names: Sequence[str], seed: str, work: Work, *, is_whole: bool = False
) -> bool | None:
    """Return whether two expressions are equal at eight points that `seed` determines; None if too few have values."""
    needed = POINTS if names else 1
    equal = 0
    for attempt in range(_TRIES if names else 1):
        point = {name: _coordinate(f"{seed}\n{attempt}\n{name}", is_whole=is_whole) for name in names}
        try:
            if not are_equal(one, other, point, work):
                return False
        except NoValue:
            continue
        equal += 1
        if equal == needed:
            return True
    return None


def _coordinate(seed: str, *, is_whole: bool) -> Fraction:
    """Return a positive number derived from a text: whole from 2 to 13, or a fraction from 1/2 to 5."""
    drawn = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return Fraction(2 + drawn % 12) if is_whole else Fraction(1, 2) + Fraction(drawn % 4500, 1009)


class Evaluation:
    """Evaluates expressions at one point, to a number of decimal digits."""

    def __init__(self, point: Mapping[str, Fraction], work: Work | None = None, digits: int = DIGITS) -> None:
        self._names: dict[str, Numeric] = dict(point)
        self._work, self._mp = work or Work(), _arithmetic(digits)
        self._cost = digits // DIGITS
        self._highest = self._lowest = 0

    @property
    def is_precise(self) -> bool:
        """Whether the digits show the smallest rounded term beside the largest."""
        return bool(self._highest - self._lowest + _GUARD_BITS <= self._mp.prec)

    def is_equal(self, one: Numeric, other: Numeric) -> bool:
        """Return whether two values are equal: exactly if both are exact, or else in the digits that were computed."""
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return one == other
        limit = self._mp.mpf(2) ** (self._highest - self._mp.prec + _ROUNDED_BITS)
        return bool(abs(self._real(one) - self._real(other)) <= limit)

    def value(self, expression: Expression) -> Numeric:
        self._work.spend(self._cost)
        if isinstance(expression, Number):
            return expression.value
        if isinstance(expression, Variable):
            return self._names[expression.name]
        if expression.head in ("sum", "product"):
            return self._repeated(expression)
        args = [self.value(part) for part in expression.args]
        try:
            result = self._applied(expression.head, args)
        except (NoValue, PrerequisiteError):
            raise
        except Exception as error:  # the library has its own errors, such as for a series that does not converge
            raise NoValue(f"{expression.head}: {error}") from error
        if not isinstance(result, Fraction):
            self._note(expression.head, args, result)
        return result

    def _note(self, head: str, args: list[Numeric], result: Numeric) -> None:
        """Note the size of a rounded value, except a sum, which may consist of nothing but the rounding of its
        terms."""
        noted = [self._mp.mag(self._real(each)) for each in args if isinstance(each, Fraction) and each]
        if head != "add" and result:
            size = self._mp.mag(result)
            if head not in ("multiply", "divide", "negative") or abs(size) < self._mp.prec - _GUARD_BITS // 2:
                noted.append(size)
        self._highest, self._lowest = max([self._highest, *noted]), min([self._lowest, *noted])

    def _repeated(self, expression: Application) -> Numeric:
        index, low, high, body = expression.args
        assert isinstance(index, Variable)
        first, last = _integer(self.value(low)), _integer(self.value(high))
        if last - first >= _MOST_TERMS:
            raise NoValue(f"{last - first + 1} terms")
        hidden = self._names.get(index.name)
        head = "add" if expression.head == "sum" else "multiply"
        total: Numeric = Fraction(head == "multiply")
        for place in range(first, last + 1):
            self._names[index.name] = Fraction(place)
            args = [total, self.value(body)]
            total = self._applied(head, args)
            if not isinstance(total, Fraction):
                self._note(head, args, total)
        if hidden is None:
            self._names.pop(index.name, None)
        else:
            self._names[index.name] = hidden
        return total

    def _applied(self, head: str, args: list[Numeric]) -> Numeric:
        if head in ("add", "multiply"):
            total: Numeric = Fraction(head == "multiply")
            for each in args:
                total = self._two(head, total, each)
            return total
        if head in LIBRARY:
            return self._library(LIBRARY[head], *args)
        if head.startswith("of "):
            return self._undefined(head, args)
        if head == MAYBE_APPLIED:
            return args[0]
        function: Callable[..., Numeric] = getattr(self, f"_{head}")
        return self._checked(function(*args))

    def _two(self, head: str, one: Numeric, other: Numeric) -> Numeric:
        if not (isinstance(one, Fraction) and isinstance(other, Fraction)):
            one, other = self._real(one), self._real(other)
        return self._checked(one + other if head == "add" else one * other)

    def _checked(self, value: Numeric) -> Numeric:
        """Return a value; an exact one is rounded if it has too many digits."""
        if isinstance(value, Fraction):
            bits = max(value.numerator.bit_length(), value.denominator.bit_length())
            self._work.spend(bits // 200)
            return self._real(value) if bits > _MOST_BITS else value
        if not self._mp.isfinite(value):
            raise NoValue("infinite")
        return value

    def _real(self, value: Numeric) -> Numeric:
        return self._mp.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value

    def _negative(self, value: Numeric) -> Numeric:
        return -value

    def _divide(self, one: Numeric, other: Numeric) -> Numeric:
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return one / other
        return self._real(one) / self._real(other)

    def _power(self, base: Numeric, exponent: Numeric) -> Numeric:
        if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
            bits = max(base.numerator.bit_length(), base.denominator.bit_length())
            if bits * abs(exponent) <= _MOST_BITS:
                return base ** int(exponent)
        base, exponent = self._real(base), self._real(exponent)
        if base == 0:
            if self._mp.re(exponent) > 0:
                return Fraction(0)
            raise NoValue("a power of zero")
        self._work.spend(10 * self._cost)
        if abs(exponent) > _LARGEST or abs(exponent * self._mp.log(base)) > _LARGEST:
            raise NoValue("too large a power")
        return self._mp.power(base, exponent)

    def _factorial(self, value: Numeric) -> Numeric:
        if isinstance(value, Fraction) and value.denominator == 1 and 0 <= value <= _LARGEST_FACTORIAL:
            return Fraction(math.factorial(int(value)))
        return self._library("factorial", value)

    def _binomial(self, upper: Numeric, lower: Numeric) -> Numeric:
        are_whole = all(isinstance(each, Fraction) and each.denominator == 1 for each in (upper, lower))
        if are_whole and lower < 0:
            return Fraction(0)
        if are_whole and 0 <= upper <= _MOST_BITS:
            self._work.spend(int(upper) // 4)
            return Fraction(math.comb(int(upper), int(lower)))
        return self._library("binomial", upper, lower)

    def _library(self, name: str, *args: Numeric) -> Numeric:
        """Call the library, but refuse what would cost too much, as large arguments may."""
        given = [self._real(each) for each in args]
        special = _SPECIAL.get(name, 0)
        self._work.spend(special * self._cost**2 or 10 * self._cost)
        if any(abs(each) > (_LARGEST_OF_SPECIAL if special else _LARGEST) for each in given):
            raise NoValue("too large an argument")
        if name == "zeta" and abs(self._mp.im(given[0])) > _HIGHEST_OF_ZETA:
            raise NoValue("too far from the real numbers")
        return self._checked(getattr(self._mp, name)(*given))

    def _floor(self, value: Numeric) -> Numeric:
        return Fraction(math.floor(value if isinstance(value, Fraction) else self._between_integers(value)))

    def _ceiling(self, value: Numeric) -> Numeric:
        return Fraction(math.ceil(value if isinstance(value, Fraction) else self._between_integers(value)))

    def _between_integers(self, value: Numeric) -> Fraction:
        """Return a rounded number whose whole part the rounding cannot have changed."""
        if self._mp.im(value):
            raise NoValue("not a real number")
        if abs(value - self._mp.nint(value)) <= self._mp.mpf(10) ** (-DIGITS // 2) or abs(value) > _LARGEST**3:
            raise NoValue("a rounded number that may be whole")
        return Fraction(str(self._mp.nstr(value, DIGITS)))

    def _absolute(self, value: Numeric) -> Numeric:
        return abs(value)

    def _min(self, *args: Numeric) -> Numeric:
        return min(args, key=self._real)

    def _max(self, *args: Numeric) -> Numeric:
        return max(args, key=self._real)

    def _pi(self) -> Numeric:
        return +self._mp.pi

    def _e(self) -> Numeric:
        return +self._mp.e

    def _i(self) -> Numeric:
        return self._mp.mpc(0, 1)

    def _undefined(self, name: str, args: list[Numeric]) -> Fraction:
        """Return a value for an undefined function: a number derived from its name and arguments."""
        self._work.spend(10)
        shown = (str(each) if isinstance(each, Fraction) else self._mp.nstr(each, 30) for each in args)
        digest = hashlib.sha256(f"{name}({','.join(shown)})".encode()).digest()
        return Fraction(1 + int.from_bytes(digest[:4], "big"), 2**31)


@lru_cache(maxsize=8)
def _arithmetic(digits: int) -> Any:
    """Return a private context: any other user can change the precision of the library's shared one."""
    try:
        from mpmath import MPContext
    except ImportError as error:
        raise PrerequisiteError(
            "Comparing expressions needs arithmetic of many digits, which is not installed. "
            "Run: python -m pip install 'mage-es[benchmarks]'"
        ) from error
    arithmetic = MPContext()
    arithmetic.dps = digits
    return arithmetic


def _integer(value: Numeric) -> int:
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    raise NoValue("not a whole number")


LIBRARY = {
    "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "exp": "exp", "log": "log", "gamma": "gamma", "zeta": "zeta", "lambertw": "lambertw",
}  # fmt: skip
"""Functions that the library computes, by our name."""
_SPECIAL = {"gamma": 100, "factorial": 100, "binomial": 300, "lambertw": 300, "zeta": 2000}
"""Units of work for a call at the usual precision; other functions take ten."""
