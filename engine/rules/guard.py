"""The paired delta-guard: is the learner worse than at an accepted snapshot, on the same anchor questions?

The paper compares raw accuracies of different questions, which rolls back by chance (a fifth of all
iterations at accuracy 0.85). Here the same questions are compared by a one-sided exact sign test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Answers = Mapping[str, bool]
"""Anchor question id -> answered correctly."""


class Accepted(NamedTuple):
    """An accepted snapshot: its iteration and its anchor answers."""

    iteration: int
    answers: Answers


class Comparison(NamedTuple):
    """Against which iteration, the drop as a fraction of the anchor set, and its one-sided p value."""

    iteration: int
    drop: float
    p_value: float


class Decision(NamedTuple):
    """The verdict and both comparisons; `restore` is the iteration whose slots come back (None: accepted)."""

    verdict: Literal["accepted", "soft_rollback", "hard_rollback"]
    previous: Comparison
    best: Comparison
    restore: int | None


def decide_guard(
    now: Answers, *, previous: Accepted, best: Accepted, drop: float, p: float, hard_drop: float, hard_p: float
) -> Decision:
    """Return the verdict: a catastrophic drop against the best restores the best, a drop against the previous it."""
    against_previous = compare(now, previous)
    against_best = compare(now, best)
    if against_best.drop > hard_drop and against_best.p_value <= hard_p:
        return Decision("hard_rollback", against_previous, against_best, best.iteration)
    if against_previous.drop > drop and against_previous.p_value <= p:
        return Decision("soft_rollback", against_previous, against_best, previous.iteration)
    return Decision("accepted", against_previous, against_best, None)


def compare(now: Answers, then: Accepted) -> Comparison:
    """Return drop and p value of `now` against an accepted snapshot, over the questions that both answered."""
    common = [question for question in now if question in then.answers]
    lost = sum(then.answers[question] and not now[question] for question in common)
    won = sum(now[question] and not then.answers[question] for question in common)
    drop = (lost - won) / len(common) if common else 0.0
    return Comparison(then.iteration, drop, sign_test(lost, lost + won))


def sign_test(lost: int, changed: int) -> float:
    """Return P(X >= lost) for X ~ Binomial(changed, 1/2), exactly summed in integers."""
    from math import comb

    return float(sum(comb(changed, i) for i in range(lost, changed + 1)) / 2**changed)


def smallest_drop(total: int, *, drop: float, p: float) -> float:
    """Return the least drop that the soft rule can notice with `total` anchors (every change a loss); 1.0 if none."""
    for lost in range(1, total + 1):
        if lost / total > drop and sign_test(lost, lost) <= p:
            return lost / total
    return 1.0
