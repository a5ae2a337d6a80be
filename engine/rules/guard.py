"""The delta-guard (Algorithm 1): is the learner worse than at an accepted snapshot? There are two ways to ask.

Rules
    - `paired` (ours) compares answers to the same anchor questions by a one-sided exact sign test.
    - `paper` compares the raw accuracies of consecutive EVALUATE phases, which asked different questions. At accuracy
      0.85 and 200 questions, chance alone rolls back every third iteration (tests/bench/guard_power.py). An EVALUATE
      measures the state at the start of its iteration; as in the paper, it counts for the state at the end.
    - In both, a catastrophic drop from the best accepted snapshot takes precedence over a drop from the last one.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Literal, NamedTuple

from mage_es.engine.rules.distributions import sign_test

GUARD = "guard"
"""The name under which it takes published memories out of use."""
LOOKS = 4  # parts in which anchors are asked; the guard may have seen enough after any of them
Answers = Mapping[str, bool]
"""Anchor question id -> answered correctly."""


class Accepted(NamedTuple):
    iteration: int
    answers: Answers


class Comparison(NamedTuple):
    """The iteration compared with, the drop as a fraction of the anchor set, and its one-sided p value."""

    iteration: int
    drop: float
    p_value: float


class Accuracy(NamedTuple):
    iteration: int
    correct: int
    total: int


class Decision(NamedTuple):
    """The verdict and both comparisons; `restore` is the iteration whose slots come back (None: accepted)."""

    verdict: Literal["accepted", "soft_rollback", "hard_rollback"]
    previous: Comparison
    best: Comparison
    restore: int | None


def decide_guard(
    now: Answers, *, previous: Accepted, best: Accepted, drop: float, p: float, hard_drop: float, hard_p: float
) -> Decision:
    """Return the verdict: a catastrophic drop against the best restores the best, a drop against the previous one
    restores that.

    [Algorithm 1, line 6] Paired: the same anchor questions before and after, by a one-sided exact sign test. Raw
    accuracies of different questions, which `--guard paper` compares, roll back by chance.
    """
    # Both are recorded with every verdict, so that a study can ask what another threshold would have done.
    against_previous = compare(now, previous)
    against_best = compare(now, best)
    if against_best.drop > hard_drop and against_best.p_value <= hard_p:
        return Decision("hard_rollback", against_previous, against_best, best.iteration)
    if against_previous.drop > drop and against_previous.p_value <= p:
        return Decision("soft_rollback", against_previous, against_best, previous.iteration)
    return Decision("accepted", against_previous, against_best, None)


def parts(order: Sequence[str]) -> list[Sequence[str]]:
    """Return the anchors to ask, in quarters; the guard looks after each."""
    size = max(1, -(-len(order) // LOOKS))
    return [order[at : at + size] for at in range(0, len(order), size)]


def is_no_drop(now: Answers, *, previous: Accepted, best: Accepted, drop: float) -> bool:
    """Return whether the answers so far are enough to accept: even with one more loss, the drop stays within what the
    guard allows.

    Sequential, and one-sided: a rollback is only ever decided on all anchors, so looking early spends no error on it.
    """
    # One more loss: without it, looking early misses two to four in a hundred drops of 10 points
    # (tests/bench/guard_power.py).
    return bool(now) and all(compare(now, then).drop + 1 / len(now) <= drop for then in (previous, best))


def decide_raw(
    now: Accuracy, *, previous: Accuracy, best: Accuracy, restore: int, drop: float, hard_drop: float
) -> Decision:
    """Return the verdict of the paper's guard: the same two drops, of raw accuracies, without a test (p is 1).

    `previous` is the iteration before, accepted or not; `restore` is the accepted snapshot that a drop against it
    brings back. Exact in fractions: 6 of 200 is a drop of exactly 0.03. [Algorithm 1, line 6]
    """
    # `str` first: 0.03 as a float is not 3/100, and a drop of exactly delta must not count as larger.
    fall, catastrophe = _exact(previous) - _exact(now), _exact(best) - _exact(now)
    against_previous = Comparison(previous.iteration, float(fall), 1.0)
    against_best = Comparison(best.iteration, float(catastrophe), 1.0)
    if catastrophe > Fraction(str(hard_drop)):
        return Decision("hard_rollback", against_previous, against_best, best.iteration)
    if fall > Fraction(str(drop)):
        return Decision("soft_rollback", against_previous, against_best, restore)
    return Decision("accepted", against_previous, against_best, None)


def _exact(accuracy: Accuracy) -> Fraction:
    return Fraction(accuracy.correct, accuracy.total)


def compare(now: Answers, then: Accepted) -> Comparison:
    """Return the drop and p value of `now` against an accepted snapshot, over the questions that both answered."""
    # An anchor may lack an answer on one side because its call failed permanently: then it is not a pair.
    common = [question for question in now if question in then.answers]
    lost = sum(then.answers[question] and not now[question] for question in common)
    won = sum(now[question] and not then.answers[question] for question in common)
    drop = (lost - won) / len(common) if common else 0.0
    return Comparison(then.iteration, drop, sign_test(lost, lost + won))


def smallest_drop(total: int, *, drop: float, p: float) -> float:
    """Return the least drop that the soft rule can notice with `total` anchors (every change a loss); 1.0 if none."""
    # The best case for noticing: every changed answer is a loss.
    for lost in range(1, total + 1):
        if lost / total > drop and sign_test(lost, lost) <= p:
            return lost / total
    return 1.0


def smallest_raw_drop(total: int, *, drop: float) -> float:
    """Return the least drop above `drop` that accuracies of `total` questions each can show; 1.0 without questions."""
    return (floor(Fraction(str(drop)) * total) + 1) / total if total else 1.0
