"""Principles at work: they support analogies that do their operations, and are carried out if no analogy fits. A
principle applies if the question has all of its words; among several, those with the most words apply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from mage_es.engine.players.arithmetic.chains import OPERATIONS, operations_of
from mage_es.engine.players.arithmetic.equations import Equation, evaluate
from mage_es.engine.players.arithmetic.principles import Principle, parse_principle
from mage_es.engine.players.arithmetic.quantities import Problem, Quantity

_SIGNS = {name: sign for sign, name in OPERATIONS.items()}
_MOST_SENTENCES = 64


def applicable(sentences: Iterable[str], problem: Problem) -> list[Principle]:
    said = {token.text for token in problem.tokens if token.kind == "word"}
    read = [parse_principle(sentence) for sentence in list(sentences)[:_MOST_SENTENCES]]
    fitting = [principle for principle in read if principle is not None and said.issuperset(principle.cues)]
    most = max((len(principle.cues) for principle in fitting), default=0)
    return [principle for principle in fitting if len(principle.cues) == most]


def operations_in(equations: Sequence[Equation]) -> tuple[str, ...]:
    """Sorted: within one line their order only shows rank."""
    return tuple(sorted(name for equation in equations for name in operations_of(equation.expression)))


def speaks_for(principles: Sequence[Principle], equations: Sequence[Equation]) -> bool:
    done = operations_in(equations)
    return any(tuple(sorted(principle.operations)) == done for principle in principles)


def carry_out(principle: Principle, problem: Problem) -> list[Equation]:
    """Return a principle's operations on the question's numbers; empty if their count does not fit.

    The smaller number is the one subtracted, or the divisor.
    """
    left = problem.relevant
    if len(left) != len(principle.operations) + 1:
        return []
    first, second = _beginning(principle.operations[0], left)
    equations: list[Equation] = []
    total = _work(first.value, principle.operations[0], second.value, equations)
    rest = [quantity for quantity in left if quantity is not first and quantity is not second]
    for operation, quantity in zip(principle.operations[1:], rest, strict=True):
        total = _work(total, operation, quantity.value, equations)
    return equations


def _beginning(operation: str, quantities: Sequence[Quantity]) -> tuple[Quantity, Quantity]:
    pairs = [
        (one, other)
        for at, one in enumerate(quantities)
        for other in quantities[at + 1 :]
        if one.per == other.noun != "" or other.per == one.noun != ""
    ]
    return pairs[0] if pairs and operation == "multiply" else (quantities[0], quantities[1])


def _work(one: Fraction, operation: str, other: Fraction, equations: list[Equation]) -> Fraction:
    if operation in ("subtract", "divide") and other > one:
        one, other = other, one
    expression = (one, _SIGNS[operation], other)
    value = evaluate(expression)
    if value is None:
        return one
    equations.append(Equation(expression, value))
    return value
