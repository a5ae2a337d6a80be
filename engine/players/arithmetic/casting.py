"""Which quantity of a question plays which part of a chain: an assignment by likeness.

The assignment is optimal for the sum of likenesses (assigning.py), then improved by exchanges if the
chain's results are implausible: negative, or fractional where the example's was whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from mage_es.engine.players.arithmetic.assigning import assigned
from mage_es.engine.players.arithmetic.chains import Operand, OperationChain, execute
from mage_es.engine.players.arithmetic.equations import Equation
from mage_es.engine.players.arithmetic.quantities import Problem

_UNNEEDED_WEIGHT = 0.6
"""The assignment's weight for a part that the chain does not need."""
_IMPLAUSIBLE = 0.12
_UNTIED = 0.12
_MOST_EXCHANGES = 30

Pairs = frozenset[tuple[int, int]]


class Cast(NamedTuple):
    """`mapping` leads from part to the index of the question's quantity; `fit` is at most 1."""

    fit: float
    equations: list[Equation]
    mapping: Mapping[int, int]


class Casting:
    def __init__(self, table: Sequence[Sequence[float]], *, ties: Pairs, to: Problem) -> None:
        """`table`: likeness in [0, 1], a row for each part, a column for each quantity; `ties` are between parts."""
        self._table, self._ties, self._to = table, ties, to

    def carry_out(self, chain: OperationChain) -> Cast | None:
        """Return None with too few quantities, or without a result."""
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

    def fit(self, chain: OperationChain, mapping: Mapping[int, int]) -> Cast | None:
        """The fit is the mean likeness of the parts needed, minus flaws."""
        equations = execute(chain, {part: self._to.quantities[column] for part, column in mapping.items()})
        if equations is None:
            return None
        mean = sum(self._table[part][mapping[part]] for part in chain.needed) / len(chain.needed)
        cast = Cast(mean, equations, mapping)
        return cast._replace(fit=mean - self._flaws(chain, cast))

    def _assign(self, needed: set[int]) -> dict[int, int]:
        return dict(
            assigned(
                [
                    [each * (1.0 if part in needed else _UNNEEDED_WEIGHT) + (part in needed) for each in row]
                    for part, row in enumerate(self._table)
                ]
            )
        )

    def _flaws(self, chain: OperationChain, cast: Cast) -> float:
        implausible = sum(
            (equation.value <= 0) + (whole and equation.value.denominator != 1)
            for equation, whole in zip(cast.equations, chain.whole, strict=True)
        )
        untied = 0
        for one, other in _combined(chain):
            pair = sorted((cast.mapping[one], cast.mapping[other]))
            untied += (min(one, other), max(one, other)) in self._ties and (pair[0], pair[1]) not in self._to.ties
        return _IMPLAUSIBLE * implausible + _UNTIED * untied

    def _exchanges(self, chain: OperationChain, mapping: Mapping[int, int]) -> Iterator[dict[int, int]]:
        """Yield mappings with one part recast, most alike first."""
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


def _combined(chain: OperationChain) -> Iterator[tuple[int, int]]:
    for step in chain.steps:
        parts = [item.at for item in step if isinstance(item, Operand) and item.source == "quantity"]
        yield from pairwise(parts)
