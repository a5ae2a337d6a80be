"""Answers with weights, and the choice among them: at temperature 0 the weightiest, above it a draw.

A draw depends on the request alone; the chance of an answer is its weight to the power of 1 / temperature.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from mage_es.engine.seams.model import Request

_DIGITS = 13
"""Hexadecimal digits of the request's hash that make a draw: as many as a float holds."""


class WeighedAnswer(NamedTuple):
    answer: str
    weight: float


def ranked(answers: Iterable[WeighedAnswer]) -> list[WeighedAnswer]:
    most: dict[str, float] = {}
    for answer, weight in answers:
        most[answer] = max(weight, most.get(answer, weight))
    return sorted((WeighedAnswer(*item) for item in most.items()), key=lambda candidate: -candidate.weight)


def choose(candidates: Sequence[WeighedAnswer], request: Request) -> str:
    if not request.temperature or not candidates[0].weight:
        return candidates[0].answer
    shares = ((one.weight / candidates[0].weight) ** (1 / request.temperature) for one in candidates)
    reached = list(accumulate(shares))
    drawn = int(request.sha256[:_DIGITS], 16) / 16**_DIGITS * reached[-1]
    return candidates[bisect_right(reached, drawn)].answer
