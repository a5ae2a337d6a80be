"""What to work on: the learnable frontier of skills (section 3.4) and the round-robin over task types (Eq. 3).

Rules
    - Scores are exact fractions, so that a tie is a tie on every machine; ties go to the type that has waited
      longest, then to the smaller name.
    - Every observed type competes, also one without failures, and being selected always resets its recency:
      that is what bounds the gap between two selections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

Signal = Literal["rate", "window"]


class Candidate(NamedTuple):
    """An observed task type: this iteration's failures and attempts, and when it was last selected."""

    task_type: str
    failures: int
    attempts: int
    last_selected: int


def select_targets(
    candidates: Sequence[Candidate], *, iteration: int, recency_weight: Fraction, count: int, signal: Signal
) -> list[Candidate]:
    """Return the `count` candidates with the highest s(t) = n_fail(t) + lambda (k - k_last(t)) (Eq. 3)."""

    def rank(candidate: Candidate) -> tuple[Fraction, int, str]:
        score = n_fail(candidate, signal) + recency_weight * (iteration - candidate.last_selected)
        return -score, candidate.last_selected, candidate.task_type

    return sorted(candidates, key=rank)[:count]


def n_fail(candidate: Candidate, signal: Signal) -> Fraction:
    """Return n_fail(t): failures per attempt (`rate`) or failures (`window`) of this iteration."""
    if signal == "window":
        return Fraction(candidate.failures)
    return Fraction(candidate.failures, candidate.attempts) if candidate.attempts else Fraction(0)


def frontier(mastery: Mapping[str, float], prerequisites: Mapping[str, Sequence[str]], threshold: float) -> list[str]:
    """Return the learnable frontier, sorted: below the threshold themselves, all prerequisites at or above it.

    Where nothing is learnable (all mastered, or all blocked) it is the skills of lowest mastery.
    """
    open_skills = [
        skill
        for skill, own in mastery.items()
        if own < threshold and all(mastery.get(name, 0.0) >= threshold for name in prerequisites.get(skill, ()))
    ]
    if open_skills or not mastery:
        return sorted(open_skills)
    lowest = min(mastery.values())
    return sorted(skill for skill, own in mastery.items() if own == lowest)
