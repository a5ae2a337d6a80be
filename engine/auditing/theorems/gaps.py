"""How long a task type can wait for EVOLVE, in theory and in a run (Theorem 2, Bounded Coverage Gap).

Rules
    - Between two selections of a type at most floor(w / lambda) + ceil(N / M) iterations pass: w is the largest n_fail
      of any type in any iteration of the gap, N the number of types observed by its end. Once a type has waited w /
      lambda iterations, any type that is selected falls behind it, so every other type can be selected at most once
      more before it.
    - It is at most the paper's ceil(n_max / lambda + N / M), which follows from it.
    - The bound is informative only if it is shorter than the run: with `cumulative`, w grows without end.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from mage_es.engine.commands import Candidate
from mage_es.engine.rules.curriculum import Signal, candidates_of, n_fail
from mage_es.events.vocabulary import TargetsSelected
from mage_es.projections.scores import Scores


class Selection(NamedTuple):
    """One iteration's choice: all observed types as they competed, and those that were selected."""

    iteration: int
    candidates: list[Candidate]
    selected: tuple[str, ...]


class CoverageGap(NamedTuple):
    """Iterations that a type waited from one selection (or just before it was first seen) to the next.

    `largest` is w and `types` is N of the bound. A gap that is still open ends with the last iteration.
    """

    task_type: str
    start: int
    end: int
    largest: Fraction
    types: int
    is_open: bool

    @property
    def length(self) -> int:
        return self.end - self.start


def coverage_bound(largest: Fraction, *, recency_weight: Fraction, types: int, targets: int) -> int | None:
    """Return floor(w / lambda) + ceil(N / M) in iterations; None if lambda is 0, since then nothing is bounded.

    [Theorem 2] w is the largest n_fail within the gap; the signal `cumulative` has no bound.
    """
    if recency_weight == 0:
        return None
    # Exact: a float just below an integer would move the bound by one.
    return floor(largest / recency_weight) + ceil(Fraction(types, targets))


def selections(events: Iterable[TargetsSelected], scores: Scores, signal: Signal, *, first: int = 0) -> list[Selection]:
    """Return what competed in every EVOLVE from iteration `first`: the scores, recomputed from the answers up to that
    point.

    Waiting counts from there: earlier choices were made by another run, with its own settings.
    """
    last: dict[str, int] = {}
    found = []
    for event in sorted(events, key=lambda event: event.iteration):
        # As in the live rule (projections/coverage.py): a new type counts as selected just before it was seen.
        last.update(dict.fromkeys(event.newly_observed, event.iteration - 1))
        competing = candidates_of(scores, last, iteration=event.iteration, signal=signal)
        selected = tuple(target.task_type for target in event.targets)
        if event.iteration >= first:
            waiting = [each._replace(last_selected=max(each.last_selected, first - 1)) for each in competing]
            found.append(Selection(event.iteration, waiting, selected))
        last.update(dict.fromkeys(selected, event.iteration))
    return found


def gaps(history: Sequence[Selection], signal: Signal) -> list[CoverageGap]:
    """Return every gap of every type in order of its end, the open ones last."""
    found: list[CoverageGap] = []
    largest: dict[str, Fraction] = {}
    for iteration, competing, selected in history:
        now = max((n_fail(candidate, signal) for candidate in competing), default=Fraction(0))
        for candidate in competing:
            name = candidate.task_type
            # w is the largest n_fail of any type while this one waits, not its own: what it waits for are its rivals.
            largest[name] = max(largest.get(name, now), now)
            if name in selected:
                waited = largest.pop(name)
                found.append(
                    CoverageGap(name, candidate.last_selected, iteration, waited, len(competing), is_open=False)
                )
    # A type that is still waiting must keep the bound too, or a run could end before breaking it.
    if history:
        iteration, competing, selected = history[-1]
        found += [
            CoverageGap(c.task_type, c.last_selected, iteration, largest[c.task_type], len(competing), is_open=True)
            for c in competing
            if c.task_type not in selected
        ]
    return found


class EffectiveBound(NamedTuple):
    """The bound for a run so far, with w and N over all of it, and the longest wait."""

    iterations: int | None
    largest: Fraction
    types: int
    longest: int


def effective_bound(
    history: Sequence[Selection], *, signal: Signal, recency_weight: Fraction, targets: int
) -> EffectiveBound:
    """Return the bound for a run as a whole; the bound of any single gap is at most as long."""
    # w and N over the whole run, so this may be looser than the bound of each gap, which the check goes by.
    waits = gaps(history, signal)
    largest = max((n_fail(c, signal) for choice in history for c in choice.candidates), default=Fraction(0))
    types = len(history[-1].candidates) if history else 0
    bound = coverage_bound(largest, recency_weight=recency_weight, types=types, targets=targets)
    return EffectiveBound(bound, largest, types, max((gap.length for gap in waits), default=0))
