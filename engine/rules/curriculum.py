"""What to work on: the learnable frontier of skills (section 3.4) and the round-robin over task types (Eq. 1).

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

from mage_es.projections.scores import Scores

Signal = Literal["rate", "window", "open", "cumulative"]
"""What n_fail(t) counts: failures per attempt or failures of this iteration, failures since the last selection, all."""
STARVING: Signal = "cumulative"
"""The signal with which a type can wait for ever: a rival's failures add up faster than the waiting does."""


class Candidate(NamedTuple):
    """An observed task type: the failures and attempts that its signal counts, and when it was last selected."""

    task_type: str
    failures: int
    attempts: int
    last_selected: int


def candidates_of(
    scores: Scores, last_selected: Mapping[str, int], *, iteration: int, signal: Signal
) -> list[Candidate]:
    """Return every observed type with its fresh answers, counted from where the signal begins to this iteration."""
    found = []
    for task_type, last in sorted(last_selected.items()):
        first = {"open": last + 1, "cumulative": 0}.get(signal, iteration)
        score = scores.between("fresh", task_type, first=first, last=iteration)
        found.append(Candidate(task_type, score.total - score.correct, score.total, last))
    return found


def select_targets(
    candidates: Sequence[Candidate], *, iteration: int, recency_weight: Fraction, count: int, signal: Signal
) -> list[Candidate]:
    """Return the `count` candidates with the highest s(t) = n_fail(t) + lambda (k - k_last(t)) (Eq. 1)."""

    def rank(candidate: Candidate) -> tuple[Fraction, int, str]:
        score = n_fail(candidate, signal) + recency_weight * (iteration - candidate.last_selected)
        return -score, candidate.last_selected, candidate.task_type

    return sorted(candidates, key=rank)[:count]


def n_fail(candidate: Candidate, signal: Signal) -> Fraction:
    """Return n_fail(t) of Eq. 1: failures per attempt with the signal `rate`, else failures."""
    if signal != "rate":
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
