"""What principles are good for: they speak for the analogies that work as they say, and are followed where none fits.

A principle counts where the question says all of its words; of several, those with the most words count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from mage_es.engine.models.arithmetic.equations import Equation, evaluate
from mage_es.engine.models.arithmetic.principles import Principle, parse_principle
from mage_es.engine.models.arithmetic.quantities import Problem, Quantity

_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_NAMES = {sign: name for name, sign in _SIGNS.items()}
_MOST_SENTENCES = 64


def applicable(sentences: Iterable[str], problem: Problem) -> list[Principle]:
    """Return the principles among sentences that the question's words call for."""
    said = {token.text for token in problem.tokens if token.kind == "word"}
    read = [parse_principle(sentence) for sentence in list(sentences)[:_MOST_SENTENCES]]
    fitting = [principle for principle in read if principle is not None and said.issuperset(principle.cues)]
    most = max((len(principle.cues) for principle in fitting), default=0)
    return [principle for principle in fitting if len(principle.cues) == most]


def operations_in(equations: Sequence[Equation]) -> tuple[str, ...]:
    """Return the names of all operations of equations, sorted: in a line of several their order is a matter of rank."""
    return tuple(sorted(_NAMES[item] for each in equations for item in each.expression if item in _NAMES))  # type: ignore[index]


def speaks_for(principles: Sequence[Principle], equations: Sequence[Equation]) -> bool:
    """Return whether equations carry out just the operations that one of the principles names."""
    done = operations_in(equations)
    return any(tuple(sorted(principle.operations)) == done for principle in principles)


def carry_out(principle: Principle, problem: Problem) -> list[Equation]:
    """Return a principle's operations on the question's numbers; empty where their count does not fit.

    A product takes a rate and what it is a rate of, if there is one; else numbers are taken in reading order. What is
    taken away or divided by is the smaller one.
    """
    left = [quantity for quantity in problem.quantities if not quantity.is_apart and quantity.kind != "one"]
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
    """Return the two numbers that the first operation takes."""
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
