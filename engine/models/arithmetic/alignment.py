"""Which quantity of one question plays the part of which quantity of another: an assignment by context.

The assignment is optimal for the sum of similarities (scipy's Hungarian solver), then mended where the chain
carried out on it gives implausible results (negative, or broken where the example's were whole).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from mage_es.engine.models.arithmetic.chains import Chain, execute, parts
from mage_es.engine.models.arithmetic.equations import Equation
from mage_es.engine.models.arithmetic.quantities import Problem, likeness, polarity, similarity
from mage_es.engine.models.arithmetic.strategies import Strategy

UNUSED = 0.12
CUT = 0.08
DOUBT = 0.05
FIT, ASKED = 0.6, 0.3
_UNNEEDED_WEIGHT = 0.6
_MOST_REPAIRS = 60
_IMPLAUSIBLE = 0.12

Table = Sequence[Sequence[float]]
"""Likeness in [0, 1]: a row for each quantity of the example, a column for each of the question."""


class Analogy(NamedTuple):
    """A chain carried out on another question: how well it fits (at most 1), its equations, who plays whom."""

    score: float
    equations: list[Equation]
    mapping: Mapping[int, int]
    is_whole: bool = True
    """Whether the whole chain was carried out, not only its beginning."""

    @property
    def answer(self) -> Fraction:
        """The last equation's value."""
        return self.equations[-1].value


def transfer(example: Problem, chain: Chain, *, to: Problem) -> list[Analogy]:
    """Carry an example's chain, and the chains that it begins with, out on another question, best first.

    Empty where the example's quantities find no counterparts.
    """
    table = [[likeness(ours, theirs) for theirs in to.quantities] for ours in example.quantities]
    asked = similarity(example.question, to.question)
    passed = len(_relevant(example) - set(chain.needed))
    found: list[Analogy] = []
    for part in parts(chain):
        analogy = _carry_out(part, table, to=to)
        if analogy is None:
            continue
        turned = _turn(part, analogy.mapping, example=example, to=to)
        if turned is not None:
            analogy = _fit(turned, analogy.mapping, table=table, to=to) or analogy
        unused = len(_relevant(to) - {analogy.mapping[index] for index in part.needed})
        score = FIT * analogy.score + ASKED * asked - UNUSED * max(0, unused - passed) - 0.1 * part.odd - DOUBT * part.doubtful
        is_whole = len(part.steps) == len(chain.steps)
        found.append(analogy._replace(score=score if is_whole else score - CUT, is_whole=is_whole))
    return sorted(found, key=lambda analogy: -analogy.score)


def _relevant(problem: Problem) -> set[int]:
    """Return the indices of the quantities that the question is likely about."""
    return {at for at, quantity in enumerate(problem.quantities) if not quantity.is_apart and quantity.kind != "one"}


def follow(strategy: Strategy, *, to: Problem) -> Analogy | None:
    """Carry a strategy out on a question; None where too few numbers answer its descriptions."""
    table = [
        [sum(quantity.has(name) for name in role) / max(1, len(role)) for quantity in to.quantities]
        for role in strategy.roles
    ]
    return _carry_out(strategy.to_chain(), table, to=to)


def _turn(chain: Chain, mapping: Mapping[int, int], *, example: Problem, to: Problem) -> Chain | None:
    """Exchange + and - before quantities that come in where the example's went out, or the other way round.

    Returns None where nothing is to be turned.
    """
    turned = False
    steps = []
    for step in chain.steps:
        items = list(step)
        for at in range(1, len(items)):
            operand, sign = items[at], items[at - 1]
            if isinstance(operand, str) or operand.source != "quantity" or sign not in ("+", "-"):
                continue
            ours, theirs = polarity(example.quantities[operand.at]), polarity(to.quantities[mapping[operand.at]])
            if ours * theirs < 0 and (ours > 0) == (sign == "+"):
                items[at - 1] = "-" if sign == "+" else "+"
                turned = True
        steps.append(tuple(items))
    return chain._replace(steps=tuple(steps)) if turned else None


def _carry_out(chain: Chain, table: Table, *, to: Problem) -> Analogy | None:
    if not chain.needed or len(to.quantities) < len(chain.needed):
        return None
    mapping = _assign(table, needed=set(chain.needed))
    best = _fit(chain, mapping, table=table, to=to)
    if best is None or _penalty(chain, best.equations):
        best = _mend(chain, mapping, table=table, to=to, best=best)
    return best


def _assign(table: Table, *, needed: set[int]) -> dict[int, int]:
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    weights = np.array([[1.0 if row in needed else _UNNEEDED_WEIGHT] for row in range(len(table))])
    bonus = np.array([[1.0 if row in needed else 0.0] for row in range(len(table))])
    rows, columns = linear_sum_assignment(np.array(table) * weights + bonus, maximize=True)
    return {int(row): int(column) for row, column in zip(rows, columns, strict=True)}


def _fit(chain: Chain, mapping: Mapping[int, int], *, table: Table, to: Problem) -> Analogy | None:
    """Return what a mapping gives, scored by mean likeness of the needed quantities less what is implausible."""
    equations = execute(chain, {index: to.quantities[mapping[index]].value for index in chain.needed})
    if equations is None:
        return None
    mean = sum(table[index][mapping[index]] for index in chain.needed) / len(chain.needed)
    return Analogy(mean - _IMPLAUSIBLE * _penalty(chain, equations), equations, mapping)


def _penalty(chain: Chain, equations: Sequence[Equation]) -> int:
    """Count implausible results: negative or zero ones, and broken ones where the example's were whole."""
    return sum(
        (equation.value <= 0) + (whole and equation.value.denominator != 1)
        for equation, whole in zip(equations, chain.whole, strict=True)
    )


def _mend(
    chain: Chain, mapping: Mapping[int, int], *, table: Table, to: Problem, best: Analogy | None
) -> Analogy | None:
    """Try exchanges of one counterpart, most alike first, and return the best fit found."""
    exchanges = sorted(
        (
            (table[index][column], index, column)
            for index in chain.needed
            for column in range(len(to.quantities))
            if mapping[index] != column
        ),
        reverse=True,
    )
    owner = {column: index for index, column in mapping.items()}
    for _, index, column in exchanges[:_MOST_REPAIRS]:
        tried = {**mapping, index: column}
        if column in owner:
            tried[owner[column]] = mapping[index]
        found = _fit(chain, tried, table=table, to=to)
        if found is not None and (best is None or found.score > best.score):
            best = found
    return best
