"""Which quantity of a question plays which part of a chain: an assignment by likeness.

The assignment is optimal for the sum of likenesses (scipy's Hungarian solver), then mended by exchanges where
the chain carried out on it is implausible: a result that is negative, or broken where the example's was whole,
or two numbers combined that nothing ties together although a word ties the example's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from mage_es.engine.models.arithmetic.chains import Chain, Operand, execute
from mage_es.engine.models.arithmetic.equations import Equation
from mage_es.engine.models.arithmetic.quantities import Problem

_UNNEEDED_WEIGHT = 0.6
"""How much the likeness of a number that the chain does not need counts in the assignment."""
_IMPLAUSIBLE = 0.12
_UNTIED = 0.12
_MOST_EXCHANGES = 30

Pairs = frozenset[tuple[int, int]]


class Cast(NamedTuple):
    """Who plays whom (part -> index of the question's quantity), the equations that follow, and a fit at most 1."""

    fit: float
    equations: list[Equation]
    mapping: Mapping[int, int]


class Casting:
    """Casts the chains of one example (or strategy) with the quantities of one question."""

    def __init__(self, table: Sequence[Sequence[float]], *, ties: Pairs, to: Problem) -> None:
        """`table`: likeness in [0, 1], a row for each part, a column for each quantity; `ties` between the parts."""
        self._table = table
        self._ties = ties
        self._to = to

    def carry_out(self, chain: Chain) -> Cast | None:
        """Return the best cast found for a chain; None where there are too few quantities, or no result."""
        if not chain.needed or len(self._to.quantities) < len(chain.needed):
            return None
        mapping = self._assign(set(chain.needed))
        best = self.fit(chain, mapping)
        if best is not None and not self._flaws(chain, best):
            return best
        for tried in self._exchanges(chain, mapping):
            found = self.fit(chain, tried)
            if found is not None and (best is None or found.fit > best.fit):
                best = found
        return best

    def fit(self, chain: Chain, mapping: Mapping[int, int]) -> Cast | None:
        """Return what a mapping gives: the mean likeness of the parts needed, less what is implausible."""
        equations = execute(chain, {part: self._to.quantities[column] for part, column in mapping.items()})
        if equations is None:
            return None
        mean = sum(self._table[part][mapping[part]] for part in chain.needed) / len(chain.needed)
        cast = Cast(mean, equations, mapping)
        return cast._replace(fit=mean - self._flaws(chain, cast))

    def _assign(self, needed: set[int]) -> dict[int, int]:
        weights = np.array([[1.0 if part in needed else _UNNEEDED_WEIGHT] for part in range(len(self._table))])
        bonus = np.array([[1.0 if part in needed else 0.0] for part in range(len(self._table))])
        parts, columns = linear_sum_assignment(np.array(self._table) * weights + bonus, maximize=True)
        return {int(part): int(column) for part, column in zip(parts, columns, strict=True)}

    def _flaws(self, chain: Chain, cast: Cast) -> float:
        implausible = sum(
            (equation.value <= 0) + (whole and equation.value.denominator != 1)
            for equation, whole in zip(cast.equations, chain.whole, strict=True)
        )
        untied = 0
        for one, other in _combined(chain):
            pair = sorted((cast.mapping[one], cast.mapping[other]))
            untied += (min(one, other), max(one, other)) in self._ties and (pair[0], pair[1]) not in self._to.ties
        return _IMPLAUSIBLE * implausible + _UNTIED * untied

    def _exchanges(self, chain: Chain, mapping: Mapping[int, int]) -> Iterator[dict[int, int]]:
        """Yield mappings with one part played by another, which takes over the first one's part, most alike first."""
        ranked = sorted(
            (
                (self._table[part][column], part, column)
                for part in chain.needed
                for column in range(len(self._to.quantities))
                if mapping[part] != column
            ),
            reverse=True,
        )
        owner = {column: part for part, column in mapping.items()}
        for _, part, column in ranked[:_MOST_EXCHANGES]:
            tried = {**mapping, part: column}
            if column in owner:
                tried[owner[column]] = mapping[part]
            yield tried


def _combined(chain: Chain) -> Iterator[tuple[int, int]]:
    """Yield the pairs of quantities that a step combines directly."""
    for step in chain.steps:
        parts = [item.at for item in step if isinstance(item, Operand) and item.source == "quantity"]
        yield from pairwise(parts)
