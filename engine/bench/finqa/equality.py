"""Whether two FinQA programs compute the same result for any values of their operands.

Every distinct operand of the gold program becomes a symbol, and so does every table step as a whole. The last step of
each program is expanded into an expression, and the two expressions must have the same values at points drawn from a
hash. Unused steps do not count.
"""

from collections.abc import Mapping, Sequence

from mage_es.engine.bench.finqa.program import GREATER, OF_A_ROW, InvalidProgram, ProgramStep, cut, reference, steps_of
from mage_es.engine.bench.realmath.expressions import Application, Expression, Variable
from mage_es.engine.bench.realmath.values import Work, agree

MOST_LEAVES = 64
"""Most leaves of an expression; a gold program has at most five steps, so six leaves if no result is used twice."""
_HEADS: Mapping[str, str] = {
    "add": "add",
    "subtract": "add",
    "multiply": "multiply",
    "divide": "divide",
    "exp": "power",
    GREATER: "add",
}
"""Our name for each operation. What is subtracted is negative, and a comparison is the sign of a difference."""


class _Unreadable(ValueError):
    """An expression is too large, or has an operand that the other program lacks."""


def is_same_program(gold: Sequence[str], predicted: Sequence[str], *, strict: bool = False) -> bool:
    """Return whether a predicted program equals the gold program.

    [section 4, FinQA, programs] Upstream's evaluator case by case, except that it simplifies: programs are equal if
    their last steps have the same values. One with more than 64 leaves counts as unequal without being tried.

    `strict` keeps upstream's slips: a table step counts as different if it is the first step of one program and a later
    step of the other; the arguments of other steps are cut at `|`. Raises `PrerequisiteError` without mpmath.
    """
    try:
        gold_steps, steps = (_steps(tokens, strict=strict) for tokens in (gold, predicted))
        symbols = {name: f"a{place}" for place, name in enumerate(dict.fromkeys(_operands(gold_steps, strict=strict)))}
        if any(name not in symbols for name in _operands(steps, strict=strict)):
            return False
        expected, given = (_expression(program, symbols, strict=strict) for program in (gold_steps, steps))
    except (InvalidProgram, _Unreadable):
        return False
    if (gold_steps[-1].operation == GREATER) != (steps[-1].operation == GREATER):
        return False
    return expected == given or agree(expected, given, list(symbols.values()), "program", Work()) is True


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


def _expression(steps: Sequence[ProgramStep], symbols: Mapping[str, str], *, strict: bool) -> Expression:
    """Return the last step with every reference expanded."""
    built: list[Expression] = []
    leaves: list[int] = []
    for place, step in enumerate(steps):
        if step.operation in OF_A_ROW:
            built.append(Variable(symbols[_table_step(step, place, strict=strict)]))
            leaves.append(1)
            continue
        parts = [_place(argument) if "#" in argument else argument for argument in (step.first, step.second)]
        if any(isinstance(part, int) and steps[part].operation == GREATER for part in parts):
            raise _Unreadable("a comparison is not a number")
        first, second = (Variable(symbols[part]) if isinstance(part, str) else built[part] for part in parts)
        if step.operation in ("subtract", GREATER):
            second = Application("negative", (second,))
        built.append(Application(_HEADS[step.operation], (first, second)))
        leaves.append(sum(1 if isinstance(part, str) else leaves[part] for part in parts))
    if not built or leaves[-1] > MOST_LEAVES:
        raise _Unreadable("the program has no step, or its last step is too large to be expanded")
    return built[-1]
