"""Filling in a tool's arguments: each parameter gets the number of the question that its meaning describes best.

Rules
    - The assignment is optimal for the sum of what fits; numbers that fit equally well are taken in reading order.
    - A tool with more or fewer parameters than the question has numbers that matter is not called, nor is one whose
      meanings do not describe them.
"""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
from scipy.optimize import linear_sum_assignment

from mage_es.engine.models.analogist.prompt_reading import Tool
from mage_es.engine.models.arithmetic.quantities import Problem, Quantity
from mage_es.engine.models.arithmetic.strategies import parse_role

_ORDER = 1e-3
"""What a place further away from the parameter's own costs: less than any feature counts."""
LEAST_FIT = 0.7
"""The share of the meanings that must hold, on average, for the tool to be called."""
UNDESCRIBED = 0.75
"""How well any number fits a meaning that says nothing of numbers."""
DECLINED = "none"
"""The reply where the tool does not fit the question."""


def fill_in(tool: Tool, problem: Problem) -> str:
    """Return the JSON object of arguments, or `DECLINED`."""
    relevant = [quantity for quantity in problem.quantities if not quantity.is_apart and quantity.kind != "one"]
    if not relevant or len(relevant) != len(tool.parameters):
        return DECLINED
    fit = np.array(
        [
            [
                _fit(parse_role(meaning), quantity) - _ORDER * abs(row - column)
                for column, quantity in enumerate(relevant)
            ]
            for row, (_, meaning) in enumerate(tool.parameters)
        ]
    )
    rows, columns = linear_sum_assignment(fit, maximize=True)
    if float(fit[rows, columns].mean()) < LEAST_FIT:
        return DECLINED
    players = ((tool.parameters[row][0], relevant[column]) for row, column in zip(rows, columns, strict=True))
    return json.dumps({name: _number(quantity.value) for name, quantity in players})


def _fit(role: frozenset[str], quantity: Quantity) -> float:
    """Return how much of a description holds for a number, in [0, 1]."""
    return sum(quantity.has(name) for name in role) / len(role) if role else UNDESCRIBED


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)
