"""FinQA's reasoning programs: their tokens, their steps, and their results on a table.

A program is a list of steps `op(first, second)`; an argument is a literal, `const_N`, `#k` (the result of step k) or,
for a table operation, the name of a row. Programs are invalid in exactly the cases in which they are for upstream's
evaluator; numbers have Python's syntax and arithmetic, as there. Source of the rules: czyssrs/FinQA,
code/evaluate/evaluate.py.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

TableRows = Sequence[Sequence[str]]
"""Rows of cells; the first cell of a row is its name, the first row is the header."""
ProgramValue = float | str
"""A number, or `yes`, `no`, or `NOTHING`."""

END = "EOF"
NOTHING = "n/a"
"""The result of a program that has no closed step."""
ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "exp": operator.pow,
}
OF_A_ROW: Mapping[str, Callable[[list[float]], float]] = {
    "table_max": max,
    "table_min": min,
    "table_sum": sum,
    "table_average": lambda cells: sum(cells) / len(cells),
}
GREATER = "greater"
OPERATIONS = {*ARITHMETIC, *OF_A_ROW, GREATER}

_DIGITS = 5
"""How many decimals upstream rounds a result to."""
_PART = re.compile(r"[^()]*\(|[^()]+|\)")


class InvalidProgram(ValueError): ...


class ProgramStep(NamedTuple):
    operation: str
    first: str
    second: str


class Executed(NamedTuple):
    """An invalid program has the result `NOTHING`, and `problem` says why."""

    result: ProgramValue
    problem: str = ""


def tokens_of(program: str) -> list[str]:
    """Return upstream's tokens of a program in text form: `op(`, argument, argument, `)`, ..., `EOF`.

    It is cut at ", ", then after every "(" and around every ")": a comma without a space stays in its number.
    """
    return [part for piece in program.split(", ") for part in _PART.findall(piece)] + [END]


def steps_of(tokens: Sequence[str]) -> list[ProgramStep]:
    """Return the closed steps; the last token always counts as the end mark. Raises `InvalidProgram`."""
    body = list(tokens[:-1])
    for place, token in enumerate(body):
        if place % 4 == 0 and token.strip("(") not in OPERATIONS:
            raise InvalidProgram(f"step {place // 4} begins with {token[:40]!r}, which is not an operation")
        if place % 4 == 3 and token != ")":
            raise InvalidProgram(f"step {place // 4} is not closed after two arguments")
    steps = []
    for start in range(0, len(body) - 3, 4):
        opening, first, second, _ = body[start : start + 4]
        if opening.count("(") != 1 or any(mark in first + second for mark in "()"):
            raise InvalidProgram(f"step {start // 4} has a bracket too many or too few")
        steps.append(ProgramStep(opening.strip("("), first.strip(), second.strip()))
    if any(")" in token for token in body[4 * len(steps) :]):
        raise InvalidProgram(f"step {len(steps)} is closed before its second argument")
    return steps


def execute(tokens: Sequence[str], table: TableRows, *, strict: bool = False) -> Executed:
    """Execute a program and round the result to five decimals. Never raises. [section 4, FinQA, programs]

    `strict` keeps upstream's slips: a row operation on `#k`, otherwise invalid, works on the row of the previous row
    operation; arguments are cut at `|`; no row operation is valid on a table with an empty row.
    """
    try:
        result = _run(steps_of(tokens), table, strict=strict)
        return Executed(result if isinstance(result, str) else round(result, _DIGITS))
    except (InvalidProgram, ArithmeticError, TypeError, ValueError) as problem:
        return Executed(NOTHING, str(problem) or type(problem).__name__)


def cut(step: ProgramStep) -> ProgramStep:
    """Return a step with its arguments as upstream reads them: joined by `|` and cut there again."""
    pieces = f"{step.first}|{step.second}".strip("|").strip().split("|")
    if len(pieces) < 2:
        raise InvalidProgram(f"{step.operation} has only one argument")
    return ProgramStep(step.operation, pieces[0].strip(), pieces[1].strip())


def literal(text: str) -> float:
    """Return the number in an argument or a cell: `1,234`, `12%` (0.12), `const_100`, `const_m1` (-1).

    With a currency sign it is not a number: raises `InvalidProgram`.
    """
    plain = text.replace(",", "")
    try:
        return float(plain)
    except ValueError:
        pass
    try:
        if "%" in plain:
            return float(plain.replace("%", "")) / 100.0
        if "const" in plain:
            constant = plain.replace("const_", "")
            return float("-1" if constant == "m1" else constant)
    except ValueError:
        pass
    raise InvalidProgram(f"{text[:40]!r} is not a number")


def reference(argument: str) -> int:
    return int(argument.replace("#", ""))


def _run(steps: Sequence[ProgramStep], table: TableRows, *, strict: bool) -> ProgramValue:
    rows = {
        row[0]: row[1:] for row in table if row
    }  # as upstream: a later row of the same name replaces an earlier one
    results: list[ProgramValue] = []
    cells: list[float] | None = None
    for step in map(cut, steps) if strict else steps:
        if step.operation in OF_A_ROW:
            if strict and not all(table):
                raise InvalidProgram("a row of the table is empty")
            cells = _cells(step, rows, results, before=cells if strict else None)
            results.append(OF_A_ROW[step.operation](cells))
            continue
        first, second = _argument(step.first, results), _argument(step.second, results)
        if step.operation == GREATER:
            results.append("yes" if first > second else "no")  # type: ignore[operator]  # a mixture raises TypeError
        else:
            results.append(ARITHMETIC[step.operation](first, second))  # type: ignore[arg-type]  # so does a word
    return results[-1] if results else NOTHING


def _argument(argument: str, results: Sequence[ProgramValue]) -> ProgramValue:
    return _result(argument, results) if "#" in argument else literal(argument)


def _result(argument: str, results: Sequence[ProgramValue]) -> ProgramValue:
    place = reference(argument)
    if not 0 <= place < len(results):
        raise InvalidProgram(f"{argument[:40]!r} does not refer to an earlier step")
    return results[place]


def _cells(
    step: ProgramStep, rows: Mapping[str, Sequence[str]], results: Sequence[ProgramValue], *, before: list[float] | None
) -> list[float]:
    if "#" in step.first:
        _result(step.first, results)
        if before is None:
            raise InvalidProgram(f"{step.operation} of {step.first[:40]!r}, which is not a row")
        return before
    if step.first not in rows:
        raise InvalidProgram(f"the table has no row called {step.first[:40]!r}")
    return [literal(cell.replace("$", "").strip().split("(")[0].strip()) for cell in rows[step.first]]
