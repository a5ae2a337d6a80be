"""Chains of operations: equations whose operands are bound to the quantities of a question.

A chain keeps only the steps that its last result depends on, and can be carried out with the quantities of another
question.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from mage_es.engine.players.arithmetic.equations import Equation, ExpressionItem, evaluate, is_close
from mage_es.engine.players.arithmetic.quantities import Quantity
from mage_es.engine.players.arithmetic.units import ratio

OPERATIONS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
_FORMS: dict[str, Callable[[Fraction], Fraction]] = {
    "as said": lambda value: value,
    "hundredths": lambda value: value / 100,
    "rest of hundred": lambda value: 100 - value,
    "added to hundred": lambda value: 100 + value,
    "rest of hundredths": lambda value: 1 - value / 100,
    "hundredths added to one": lambda value: 1 + value / 100,
    "inverse": lambda value: 1 / value if value else value,
    "rest of one": lambda value: 1 - value,
    "added to one": lambda value: 1 + value,
    "numerator": lambda value: Fraction(value.numerator),
    "denominator": lambda value: Fraction(value.denominator),
    "in thousands": lambda value: value / 1000,
    "in millions": lambda value: value / 1000000,
}
_FORMS_OF_KIND = {
    "percent": ("hundredths", "rest of hundredths", "hundredths added to one", "rest of hundred", "added to hundred"),
    "fraction": ("inverse", "rest of one", "numerator", "denominator", "added to one"),
    "money": ("in millions", "in thousands", "hundredths"),
    "count": ("in millions", "in thousands", "hundredths", "added to one"),
    "factor": ("added to one",),
}
_CONSTANTS = frozenset(map(Fraction, (1, 2, 3, 4, 7, 10, 12, 24, 30, 36, 52, 60, 100, 365, 1000, 3600)))
"""Numbers that reasoning may use although the question does not mention them: halves, calendars, hundredths, units."""


class Operand(NamedTuple):
    """`source` is `quantity`, `result`, `constant`, or `ratio` of the units of two quantities.

    `at` is a place among quantities or steps, `to` that of the second quantity of a ratio; `form` is a quantity's.
    """

    source: str
    at: int
    form: str
    value: Fraction
    to: int = 0


OperationStep = tuple[Operand | str, ...]
"""An expression in infix order."""


class OperationChain(NamedTuple):
    """Steps in order; the last one gives the answer. `needed` are the indices of the quantities that it uses.

    `odd` counts unexplained constants, `doubtful` the operands that could have been another quantity as well.
    """

    steps: tuple[OperationStep, ...]
    needed: tuple[int, ...]
    odd: int
    doubtful: int
    whole: tuple[bool, ...]
    """Whether each step's result is an integer."""


def operations_of(step: Sequence[object]) -> tuple[str, ...]:
    return tuple(OPERATIONS[item] for item in step if isinstance(item, str) and item in OPERATIONS)


def bind(equations: Sequence[Equation], quantities: Sequence[Quantity], *, answer: Fraction) -> OperationChain | None:
    """Up to the equation that gives `answer`; None if no equation does."""
    last = max((at for at, equation in enumerate(equations) if is_close(equation.value, answer)), default=None)
    if last is None:
        return None
    equations = equations[: last + 1]
    used: set[tuple[str, int]] = set()
    steps: list[OperationStep] = []
    doubtful = 0
    for at, equation in enumerate(equations):
        results = [earlier.value for earlier in equations[:at]]
        step: list[Operand | str] = []
        for item in equation.expression:
            if isinstance(item, str):
                step.append(item)
                continue
            operand = _bind_operand(item, quantities=quantities, results=results, used=used)
            is_result = operand.source == "result"
            doubtful += is_result and any(quantity.value == operand.value for quantity in quantities)
            used.add((operand.source, operand.at))
            step.append(operand)
        steps.append(tuple(step))
    return _trim(steps, [equation.value for equation in equations], doubtful=doubtful)


def _bind_operand(
    value: Fraction, *, quantities: Sequence[Quantity], results: Sequence[Fraction], used: set[tuple[str, int]]
) -> Operand:
    """Return the likeliest source of a number: unused before used, unchanged before changed, last result first."""
    of_results = [
        Operand("result", at, "as said", result)
        for at, result in reversed(list(enumerate(results)))
        if is_close(result, value)
    ]
    exact = [Operand("quantity", at, "as said", q.value) for at, q in enumerate(quantities) if q.value == value]
    strong = [operand for operand in exact if quantities[operand.at].kind != "one"]
    for candidates in (of_results, strong):
        for operand in candidates:
            if (operand.source, operand.at) not in used:
                return operand
    for candidates in (_ratios(value, quantities), strong, of_results, _changed(value, quantities), exact):
        if candidates:
            return candidates[0]
    return Operand("constant", 0, "as said", value)


def _ratios(value: Fraction, quantities: Sequence[Quantity]) -> list[Operand]:
    """Return the pairs of quantities such that `value` units of the second make one of the first."""
    return [
        Operand("ratio", at, "as said", value, to=other)
        for at, quantity in enumerate(quantities)
        for other, second in enumerate(quantities)
        if value > 1 and ratio(quantity.noun, second.noun) == value
    ]


def _changed(value: Fraction, quantities: Sequence[Quantity]) -> list[Operand]:
    return [
        Operand("quantity", at, form, value)
        for at, quantity in enumerate(quantities)
        for form in _FORMS_OF_KIND.get(quantity.kind, ())
        if _FORMS[form](quantity.value) == value
        and (form != "added to one" or quantity.kind == "fraction" or value not in _CONSTANTS)
    ]


def _trim(steps: Sequence[OperationStep], values: Sequence[Fraction], *, doubtful: int) -> OperationChain:
    wanted = {len(steps) - 1}
    for at in range(len(steps) - 1, -1, -1):
        if at in wanted:
            wanted.update(item.at for item in steps[at] if isinstance(item, Operand) and item.source == "result")
    places = {old: new for new, old in enumerate(sorted(wanted))}
    kept = tuple(
        tuple(
            item._replace(at=places[item.at]) if isinstance(item, Operand) and item.source == "result" else item
            for item in steps[at]
        )
        for at in sorted(wanted)
    )
    operands = [item for step in kept for item in step if isinstance(item, Operand)]
    return OperationChain(
        steps=kept,
        needed=tuple(sorted({operand.at for operand in operands if operand.source == "quantity"})),
        odd=sum(operand.source == "constant" and operand.value not in _CONSTANTS for operand in operands),
        doubtful=doubtful,
        whole=tuple(values[at].denominator == 1 for at in sorted(wanted)),
    )


def parts(chain: OperationChain) -> list[OperationChain]:
    """Return the chain itself, then the chains that end at an earlier step, the longest first."""
    values = [Fraction(1) if whole else Fraction(1, 2) for whole in chain.whole]
    return [
        _trim(chain.steps[: end + 1], values[: end + 1], doubtful=chain.doubtful)
        for end in reversed(range(len(chain.steps)))
    ]


def without(chain: OperationChain, index: int) -> OperationChain | None:
    """Return None if nothing would be left to operate on, as for the first operand of a difference or a quotient."""
    steps: list[OperationStep] = []
    for step in chain.steps:
        items = list(step)
        places = [
            at
            for at, item in enumerate(items)
            if isinstance(item, Operand) and item.source == "quantity" and item.at == index
        ]
        if "(" in items or len(places) > 1:
            return None
        if places and places[0]:
            del items[places[0] - 1 : places[0] + 1]
        elif places and len(items) > 1 and items[1] in ("+", "*"):
            del items[:2]
        elif places:
            return None
        steps.append(tuple(items))
    if not any(len(step) > 1 for step in steps):
        return None
    return chain._replace(steps=tuple(steps), needed=tuple(at for at in chain.needed if at != index))


def execute(chain: OperationChain, given: Mapping[int, Quantity]) -> list[Equation] | None:
    """Return None if a step has no value."""
    done: list[Equation] = []
    for step in chain.steps:
        expression: list[ExpressionItem] = []
        for item in step:
            if isinstance(item, str):
                expression.append(item)
            elif item.source == "result":
                expression.append(done[item.at].value)
            elif item.source == "constant":
                expression.append(item.value)
            elif item.source == "ratio":
                units = (given[at].noun if at in given else "" for at in (item.at, item.to))
                expression.append(ratio(*units) or item.value)
            else:
                expression.append(_FORMS[item.form](given[item.at].value))
        value = evaluate(expression)
        if value is None:
            return None
        done.append(Equation(tuple(expression), value))
    return done
