"""Theorem 2: how long a task type waits is bounded, for the signals for which that is true."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.auditing.theorems.gaps import CoverageGap, coverage_bound, effective_bound, gaps, selections
from mage_es.engine.commands import Candidate
from mage_es.engine.rules.curriculum import Signal, candidates_of, n_fail, select_targets
from mage_es.events.vocabulary import Target, TargetsSelected
from mage_es.projections.scores import Scores
from tests.engine.rules.test_curriculum import answered

LAMBDA = Fraction(3, 10)
SIGNALS: tuple[Signal, ...] = ("rate", "window", "open", "cumulative")
History = Sequence[Mapping[str, tuple[int, int]]]
"""Of each iteration (failures, attempts) by task type."""


def selected(history: History, *, count: int, signal: Signal, weight: Fraction = LAMBDA) -> list[TargetsSelected]:
    """Play the round-robin over a history, as EVOLVE would."""
    scores, last, events = answered(*history), dict[str, int](), []
    for k, types in enumerate(history):
        new = sorted(set(types) - set(last))
        last |= dict.fromkeys(new, k - 1)
        competing = candidates_of(scores, last, iteration=k, signal=signal)
        targets = select_targets(competing, iteration=k, recency_weight=weight, count=count, signal=signal)
        last |= {target.task_type: k for target in targets}
        parts = tuple(Target(**target._asdict()) for target in targets)
        events.append(TargetsSelected(iteration=k, targets=parts, newly_observed=tuple(new)))
    return events


@st.composite
def failing(draw: st.DrawFn) -> History:
    """Draw up to 30 iterations over up to nine types, some of which come later."""
    names = [f"t{i}" for i in range(draw(st.integers(1, 9)))]
    first = {name: draw(st.integers(0, 6)) for name in names}
    history = []
    for k in range(draw(st.integers(1, 30))):
        answers = {name: draw(st.tuples(st.integers(0, 8), st.just(8))) for name in names if first[name] <= k}
        history.append(answers)
    return history


@pytest.mark.slow
@pytest.mark.paper("Theorem 2")
@pytest.mark.parametrize("signal", SIGNALS)
@given(failing(), st.integers(1, 4), st.sampled_from([Fraction(1, 10), LAMBDA, Fraction(2)]))
def test_no_gap_is_longer_than_its_bound(signal: Signal, history: History, count: int, weight: Fraction) -> None:
    events = selected(history, count=count, signal=signal, weight=weight)
    choices = selections(events, answered(*history), signal)
    whole = effective_bound(choices, signal=signal, recency_weight=weight, targets=count)
    for gap in gaps(choices, signal):
        bound = coverage_bound(gap.largest, recency_weight=weight, types=gap.types, targets=count)
        assert bound is not None and whole.iterations is not None
        assert gap.length <= bound <= whole.iterations
        assert bound <= ceil(gap.largest / weight + Fraction(gap.types, count))  # the paper's follows from it


@pytest.mark.paper("Theorem 2")
def test_the_bound_is_reached() -> None:
    """One type waits while the other fails all the time: floor(1 / 0.3) + ceil(2 / 1) = 5 iterations, and no fewer."""
    history = [{"fails": (8, 8), "waits": (0, 8)}] * 12
    choices = selections(selected(history, count=1, signal="rate"), answered(*history), "rate")
    found = effective_bound(choices, signal="rate", recency_weight=LAMBDA, targets=1)
    assert (found.iterations, found.longest) == (5, 5)


@pytest.mark.paper("Theorem 2")
def test_with_the_cumulative_signal_a_type_can_starve() -> None:
    """The counterexample: five failures an iteration add up faster than lambda = 0.3 of waiting, for ever."""
    history = [{"fails": (5, 5), "waits": (1, 5)}] * 200
    waits = {
        signal: max(
            gap.length
            for gap in gaps(selections(selected(history, count=1, signal=signal), answered(*history), signal), signal)
            if gap.task_type == "waits"
        )
        for signal in SIGNALS
    }
    assert waits["cumulative"] == 200
    assert waits["rate"] <= 5 and waits["window"] <= 18 and waits["open"] <= 10


def test_a_log_gives_the_same_candidates_that_the_selection_was_made_from() -> None:
    history = [{"a": (1, 4), "b": (3, 4)}, {"a": (0, 4), "b": (4, 4), "c": (2, 4)}]
    first, second = selections(selected(history, count=1, signal="open"), answered(*history), "open")
    assert first.candidates == [Candidate("a", 1, 4, -1), Candidate("b", 3, 4, -1)]
    assert first.selected == ("b",)
    assert second.candidates == [Candidate("a", 1, 8, -1), Candidate("b", 4, 4, 0), Candidate("c", 2, 4, 0)]


def test_a_gap_begins_just_before_a_type_was_first_seen_and_an_open_one_ends_with_the_last_iteration() -> None:
    history = [{"a": (4, 4)}, {"a": (4, 4), "b": (0, 4)}]
    choices = selections(selected(history, count=1, signal="rate"), answered(*history), "rate")
    assert gaps(choices, "rate") == [
        CoverageGap("a", -1, 0, Fraction(1), 1, is_open=False),
        CoverageGap("a", 0, 1, Fraction(1), 2, is_open=False),
        CoverageGap("b", 0, 1, Fraction(1), 2, is_open=True),
    ]


def test_the_largest_failure_count_of_a_gap_is_that_of_all_its_iterations_and_of_no_other() -> None:
    history = [{"a": (8, 8), "b": (0, 8)}, {"a": (6, 8), "b": (0, 8)}, {"a": (0, 8), "b": (7, 8)}, {"b": (2, 8)}]
    choices = selections(selected(history, count=1, signal="window"), answered(*history), "window")
    assert [choice.selected for choice in choices] == [("a",), ("a",), ("b",), ("b",)]
    found = {(gap.task_type, gap.start, gap.end): gap.largest for gap in gaps(choices, "window")}
    assert found == {("a", -1, 0): 8, ("a", 0, 1): 6, ("b", -1, 2): 8, ("b", 2, 3): 2, ("a", 1, 3): 7}


def test_nothing_is_bounded_without_a_weight_on_waiting() -> None:
    assert coverage_bound(Fraction(1), recency_weight=Fraction(0), types=8, targets=3) is None
    assert coverage_bound(Fraction(1), recency_weight=LAMBDA, types=8, targets=3) == 6


def test_a_run_that_selected_nothing_has_no_types() -> None:
    found = effective_bound([], signal="rate", recency_weight=LAMBDA, targets=3)
    assert (found.types, found.longest, n_fail(Candidate("a", 0, 0, 0), "rate")) == (0, 0, 0)
    assert gaps([], "rate") == [] and selections([], Scores(), "rate") == []
