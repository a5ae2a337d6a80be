"""Candidates for an answer: the weightiest at temperature 0, above it one that is drawn by weight.

Rules
    - A draw depends on the request alone: its prompt, its temperature and which of several samples it is.
    - An answer is drawn in proportion to its weight to the power of 1 / temperature: at 1 as it is, near 0 the
      weightiest nearly always. Without any weight at all it is the first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from mage_es.engine.models.seam import Request

_DIGITS = 13
"""Hexadecimal digits of a request's hash that a draw is made of: as many as a float holds."""


class Candidate(NamedTuple):
    """An answer, and how much speaks for it."""

    answer: str
    weight: float


def ranked(answers: Iterable[Candidate]) -> list[Candidate]:
    """Return each answer once, with the most that speaks for it, the weightiest first and equals as they came."""
    most: dict[str, float] = {}
    for answer, weight in answers:
        most[answer] = max(weight, most.get(answer, weight))
    return sorted((Candidate(*item) for item in most.items()), key=lambda candidate: -candidate.weight)


def choose(candidates: Sequence[Candidate], request: Request) -> str:
    """Return the answer to give to a request, of at least one candidate that are ranked."""
    if not request.temperature or not candidates[0].weight:
        return candidates[0].answer
    shares = ((one.weight / candidates[0].weight) ** (1 / request.temperature) for one in candidates)
    reached = list(accumulate(shares))
    drawn = int(request.sha256[:_DIGITS], 16) / 16**_DIGITS * reached[-1]
    return candidates[bisect_right(reached, drawn)].answer
