"""Filling in a tool's arguments: each parameter gets the number of the question that its meaning describes best.

A tool is declined if it does not have as many parameters as there are numbers that matter, or if they do not describe
these.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import fmean

from mage_es.engine.players.arithmetic.assigning import assigned
from mage_es.engine.players.arithmetic.equations import to_number
from mage_es.engine.players.arithmetic.quantities import Problem, Quantity
from mage_es.engine.players.arithmetic.strategies import parse_role

_ORDER = 1e-3
"""The cost of each place away from the parameter's own: less than any feature counts."""
LEAST_FIT = 0.7
"""The share of the meanings that must hold, on average, for the tool to be called."""
UNDESCRIBED = 0.75
"""How well any number fits a meaning that says nothing about numbers."""
DECLINED = "none"


def fill_in(parameters: Sequence[tuple[str, str]], problem: Problem) -> str:
    relevant = problem.relevant
    if not relevant or len(relevant) != len(parameters):
        return DECLINED
    fit = [
        [_fit(parse_role(meaning), quantity) - _ORDER * abs(row - column) for column, quantity in enumerate(relevant)]
        for row, (_, meaning) in enumerate(parameters)
    ]
    players = assigned(fit)
    if fmean(fit[row][column] for row, column in players) < LEAST_FIT:
        return DECLINED
    return json.dumps({parameters[row][0]: to_number(relevant[column].value) for row, column in players})


def _fit(role: frozenset[str], quantity: Quantity) -> float:
    return sum(quantity.has(name) for name in role) / len(role) if role else UNDESCRIBED
