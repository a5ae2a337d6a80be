"""Filling in a tool's arguments: each parameter gets the number of the question that its meaning describes best.

The assignment is optimal for the sum of what fits; numbers that fit equally well are taken in reading order.
"""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
from scipy.optimize import linear_sum_assignment

from mage_es.engine.models.analogist.prompt_reading import Tool
from mage_es.engine.models.arithmetic.quantities import Problem
from mage_es.engine.models.arithmetic.strategies import parse_role

_ORDER = 1e-3
"""What a place further away from the parameter's own costs: less than any feature counts."""
_APART = 0.2
"""What is left of the fit of a number that seems beside the point, or is a mere "one"."""


def fill_in(tool: Tool, problem: Problem) -> str:
    """Return the JSON object of arguments; parameters for which there is no number are left out."""
    if not tool.parameters or not problem.quantities:
        return "{}"
    fit = np.array(
        [
            [
                _fit(parse_role(meaning), problem, column) - _ORDER * abs(row - column)
                for column in range(len(problem.quantities))
            ]
            for row, (_, meaning) in enumerate(tool.parameters)
        ]
    )
    rows, columns = linear_sum_assignment(fit, maximize=True)
    return json.dumps(
        {
            tool.parameters[row][0]: _number(problem.quantities[column].value)
            for row, column in zip(rows, columns, strict=True)
        }
    )


def _fit(role: frozenset[str], problem: Problem, column: int) -> float:
    """Return how much of a description holds for a number, in [0, 1]."""
    quantity = problem.quantities[column]
    fit = sum(quantity.has(name) for name in role) / len(role) if role else 0.5
    return fit * _APART if quantity.is_apart or quantity.kind == "one" else fit


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)
