"""Which quantity of one question plays the part of which quantity of another: an assignment by context.

The assignment is optimal for the sum of similarities (scipy's Hungarian solver), then mended where the chain
carried out on it gives implausible results (negative, or broken where the example's were whole).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from mage_es.engine.models.arithmetic.chains import Chain, execute
from mage_es.engine.models.arithmetic.equations import Equation
from mage_es.engine.models.arithmetic.quantities import Problem, likeness, similarity
from mage_es.engine.models.arithmetic.strategies import Strategy

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

    @property
    def answer(self) -> Fraction:
        """The last equation's value."""
        return self.equations[-1].value


def transfer(example: Problem, chain: Chain, *, to: Problem) -> Analogy | None:
    """Carry an example's chain out on another question; None where its quantities find no counterparts."""
    table = [[likeness(ours, theirs) for theirs in to.quantities] for ours in example.quantities]
    found = _carry_out(chain, table, to=to)
    if found is None:
        return None
    asked = similarity(example.question, to.question)
    few, many = sorted((len(example.quantities), len(to.quantities)))
    return found._replace(score=0.6 * found.score + 0.3 * asked + 0.1 * few / max(1, many) - 0.1 * chain.odd)


def follow(strategy: Strategy, *, to: Problem) -> Analogy | None:
    """Carry a strategy out on a question; None where too few numbers answer its descriptions."""
    table = [
        [sum(quantity.has(name) for name in role) / max(1, len(role)) for quantity in to.quantities]
        for role in strategy.roles
    ]
    return _carry_out(strategy.to_chain(), table, to=to)


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
