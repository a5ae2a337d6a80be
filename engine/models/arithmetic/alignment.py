"""Which quantity of one question plays the part of which quantity of another: an assignment by context.

The assignment is optimal for the sum of similarities (scipy's Hungarian solver), then mended where the chain
carried out on it gives implausible results (negative, or broken where the example's were whole).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import msgspec

from mage_es.engine.models.arithmetic.chains import Chain, execute
from mage_es.engine.models.arithmetic.equations import Equation
from mage_es.engine.models.arithmetic.quantities import Problem, similarity

_UNNEEDED_WEIGHT = 0.6
_MOST_REPAIRS = 60
_IMPLAUSIBLE = 0.12


class Analogy(msgspec.Struct, kw_only=True):
    """A chain carried out on another question: how well it fits in [0, 1], and its equations."""

    score: float
    equations: list[Equation]

    @property
    def answer(self) -> Fraction:
        """The last equation's value."""
        return self.equations[-1].value


def transfer(example: Problem, chain: Chain, *, to: Problem) -> Analogy | None:
    """Carry an example's chain out on another question; None where its quantities find no counterparts."""
    if not chain.needed or len(to.quantities) < len(chain.needed):
        return None
    table = [[similarity(ours.features, theirs.features) for theirs in to.quantities] for ours in example.quantities]
    mapping = _assign(table, needed=set(chain.needed))
    if any(index not in mapping for index in chain.needed):
        return None
    fit, equations = _fit(chain, mapping, table=table, to=to)
    if fit < 1.0 and equations is not None and _penalty(chain, equations):
        fit, equations = _mend(chain, mapping, table=table, to=to, best=(fit, equations))
    if equations is None:
        return None
    return Analogy(score=_score(fit, example, to=to, chain=chain), equations=equations)


def _assign(table: Sequence[Sequence[float]], *, needed: set[int]) -> dict[int, int]:
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    weights = np.array([[1.0 if row in needed else _UNNEEDED_WEIGHT] for row in range(len(table))])
    bonus = np.array([[1.0 if row in needed else 0.0] for row in range(len(table))])
    rows, columns = linear_sum_assignment(np.array(table) * weights + bonus, maximize=True)
    return {int(row): int(column) for row, column in zip(rows, columns, strict=True)}


def _fit(
    chain: Chain, mapping: dict[int, int], *, table: Sequence[Sequence[float]], to: Problem
) -> tuple[float, list[Equation] | None]:
    """Return the mean similarity of the needed quantities less what is implausible, and the equations."""
    given = {index: to.quantities[mapping[index]].value for index in chain.needed}
    equations = execute(chain, given)
    mean = sum(table[index][mapping[index]] for index in chain.needed) / len(chain.needed)
    if equations is None:
        return mean - 1.0, None
    return mean - _IMPLAUSIBLE * _penalty(chain, equations), equations


def _penalty(chain: Chain, equations: Sequence[Equation]) -> int:
    """Count implausible results: negative or zero ones, and broken ones where the example's were whole."""
    return sum(
        (equation.value <= 0) + (whole and equation.value.denominator != 1)
        for equation, whole in zip(equations, chain.whole, strict=True)
    )


def _mend(
    chain: Chain,
    mapping: dict[int, int],
    *,
    table: Sequence[Sequence[float]],
    to: Problem,
    best: tuple[float, list[Equation] | None],
) -> tuple[float, list[Equation] | None]:
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
        tried = dict(mapping)
        tried[index] = column
        if column in owner:
            tried[owner[column]] = mapping[index]
        found = _fit(chain, tried, table=table, to=to)
        best = max(best, found, key=lambda pair: pair[0])
    return best


def _score(fit: float, example: Problem, *, to: Problem, chain: Chain) -> float:
    """Weigh the fit of quantities, of the question asked, and of how many quantities there are."""
    asked = similarity(example.question, to.question)
    few, many = sorted((len(example.quantities), len(to.quantities)))
    return 0.6 * fit + 0.3 * asked + 0.1 * few / max(1, many) - 0.1 * chain.odd
