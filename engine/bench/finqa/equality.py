"""Whether two FinQA programs are the same computation, for any values of their operands.

Every distinct operand of the gold program becomes a symbol, and so does every table step as a whole. Both last steps
are written out as expressions, which must be identical after simplification; unused steps do not count. Simplification
may take arbitrarily long, so it is tried only on small expressions that agree at a few probes. For larger ones without
powers the probes decide: quotients of polynomials that agree at large random points are the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from mage_es.engine.bench.finqa.program import (
    GREATER,
    OF_A_ROW,
    InvalidProgram,
    ProgramStep,
    cut,
    reference,
    steps_of,
)
from mage_es.events.errors import PrerequisiteError

if TYPE_CHECKING:
    import sympy

MOST_LEAVES = 64
"""Most leaves of an expression; a gold program has at most five steps, so six leaves if no result is used twice."""
MOST_SIMPLIFIED, MOST_POWERS = 16, 3
"""Most leaves, and powers, of an expression to simplify."""
_PROBES = (3, 8, 21)
_LARGE_PROBES = (1_299_709, 15_485_863, 179_424_673)
_LARGEST_EXPONENT = 64
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "exp": operator.pow,
    GREATER: operator.gt,
}


class Node(NamedTuple):
    operation: str
    first: Node | str
    second: Node | str


class _Unreadable(ValueError):
    """An expression is too large, or has an operand that the other program lacks."""


def is_same_program(gold: Sequence[str], predicted: Sequence[str], *, strict: bool = False) -> bool:
    """Return whether a predicted program equals the gold program, as far as simplification can tell.

    [section 4, FinQA, programs] Upstream's evaluator case by case: programs are equal if their last steps simplify to
    the same expression. One with more than 64 leaves counts as unequal without being tried.

    `strict` keeps upstream's slips: a table step counts as different if it is the first step of one program and a later
    step of the other; the arguments of other steps are cut at `|`. Raises `PrerequisiteError` without sympy.
    """
    try:
        gold_steps, steps = (_steps(tokens, strict=strict) for tokens in (gold, predicted))
        symbols = {name: f"a{place}" for place, name in enumerate(dict.fromkeys(_operands(gold_steps, strict=strict)))}
        if any(name not in symbols for name in _operands(steps, strict=strict)):
            return False
        expected, given = (_expression(program, symbols, strict=strict) for program in (gold_steps, steps))
    except (InvalidProgram, _Unreadable):
        return False
    if expected == given:
        return True
    are_small = all(_leaves(each) <= MOST_SIMPLIFIED and _powers(each) <= MOST_POWERS for each in (expected, given))
    if not are_small:
        return not _powers(expected) and not _powers(given) and _agree(expected, given, _LARGE_PROBES) is True
    return _agree(expected, given, _PROBES) is not False and _is_identical_simplified(expected, given)


def _steps(tokens: Sequence[str], *, strict: bool) -> list[ProgramStep]:
    steps = steps_of(tokens)
    return [step if step.operation in OF_A_ROW else cut(step) for step in steps] if strict else steps


def _operands(steps: Sequence[ProgramStep], *, strict: bool) -> list[str]:
    """Raises `_Unreadable` if a step refers to itself or a later step."""
    found: list[str] = []
    for place, step in enumerate(steps):
        if step.operation in OF_A_ROW:
            found.append(_table_step(step, place, strict=strict))
            continue
        for argument in (step.first, step.second):
            if "#" not in argument:
                found.append(argument)
            elif not 0 <= _place(argument) < place:
                raise _Unreadable(argument)
    return found


def _table_step(step: ProgramStep, place: int, *, strict: bool) -> str:
    where = "" if place and strict else "first "
    return f"{where}{step.operation}({step.first}, {step.second})"


def _place(argument: str) -> int:
    try:
        return reference(argument)
    except ValueError as error:
        raise _Unreadable(argument) from error


def _expression(steps: Sequence[ProgramStep], symbols: Mapping[str, str], *, strict: bool) -> Node | str:
    """Return the last step with every reference written out."""
    built: list[Node | str] = []
    leaves: list[int] = []
    for place, step in enumerate(steps):
        if step.operation in OF_A_ROW:
            built.append(symbols[_table_step(step, place, strict=strict)])
            leaves.append(1)
            continue
        parts = [_place(argument) if "#" in argument else argument for argument in (step.first, step.second)]
        first, second = (symbols[part] if isinstance(part, str) else built[part] for part in parts)
        built.append(Node(step.operation, first, second))
        leaves.append(sum(1 if isinstance(part, str) else leaves[part] for part in parts))
    if not built or leaves[-1] > MOST_LEAVES:
        raise _Unreadable("the program has no step, or its last step is too large to be written out")
    return built[-1]


def _leaves(expression: Node | str) -> int:
    return 1 if isinstance(expression, str) else _leaves(expression.first) + _leaves(expression.second)


def _powers(expression: Node | str) -> int:
    if isinstance(expression, str):
        return 0
    return (expression.operation == "exp") + _powers(expression.first) + _powers(expression.second)


def _agree(expected: Node | str, given: Node | str, probes: Sequence[int]) -> bool | None:
    """Return whether two expressions have the same values at the probes, None if they have no value at any."""
    found = None
    for probe in probes:
        try:
            if _value(expected, probe) != _value(given, probe):
                return False
            found = True
        except (ArithmeticError, TypeError, _Unreadable):
            continue
    return found


def _value(expression: Node | str, probe: int) -> Fraction | bool:
    if isinstance(expression, str):  # values are far apart, and small enough to be exponents
        return Fraction(probe + (2 if probe in _PROBES else probe // 7) * int(expression[1:]))
    first, second = _value(expression.first, probe), _value(expression.second, probe)
    if isinstance(first, bool) or isinstance(second, bool):
        raise _Unreadable("a comparison is not a number")
    if expression.operation == "exp" and (second.denominator != 1 or abs(second) > _LARGEST_EXPONENT):
        raise _Unreadable("a power that cannot be computed exactly")
    value: Fraction | bool = _OPERATORS[expression.operation](first, second)
    return value


def _is_identical_simplified(expected: Node | str, given: Node | str) -> bool:
    try:
        import sympy
    except ImportError as error:
        raise PrerequisiteError(
            "Program accuracy needs symbolic mathematics, which is not installed. "
            "Run: python -m pip install 'mage-es[benchmarks]'"
        ) from error

    def built(expression: Node | str) -> sympy.Basic:
        if isinstance(expression, str):
            return sympy.Symbol(expression)
        made: sympy.Basic = _OPERATORS[expression.operation](built(expression.first), built(expression.second))
        return made

    try:
        return bool(sympy.simplify(built(expected)) == sympy.simplify(built(given)))
    except TypeError:  # a comparison cannot be part of a sum
        return False
