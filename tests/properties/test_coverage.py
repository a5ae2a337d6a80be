"""Theorem 2: how long a type waits is bounded by the failures of its wait, and not by those of a moment or of all time.

The bound itself, for random failures and for each signal that keeps it, is tested with the rules.
"""

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.auditing.theorems.gaps import gaps, selections
from mage_es.engine.rules.curriculum import n_fail
from tests.engine.auditing.theorems.test_gaps import answered, selected

pytestmark = pytest.mark.slow

LAMBDA = Fraction(3, 10)


@settings(deadline=None, max_examples=10)
@given(st.integers(30, 120), st.integers(2, 8))
def test_with_failures_counted_for_ever_a_type_waits_as_long_as_the_run_lasts(iterations: int, fails: int) -> None:
    """The counterexample: failures add up faster than lambda = 0.3 an iteration, however long the run is."""
    history = [{"fails": (fails, 8), "waits": (0, 8)}] * iterations
    choices = selections(selected(history, count=1, signal="cumulative"), answered(*history), "cumulative")
    assert max(gap.length for gap in gaps(choices, "cumulative") if gap.task_type == "waits") == iterations


def test_a_bound_from_the_failures_at_the_moment_of_selection_alone_is_false() -> None:
    """n_max must be that of the whole wait: here the rival no longer fails when the other type comes to its turn."""
    history = [{"fails": (8, 8), "waits": (0, 8)}] * 9 + [{"fails": (0, 8), "waits": (0, 8)}]
    choices = selections(selected(history, count=1, signal="window"), answered(*history), "window")
    last = choices[-1]
    gap = next(gap for gap in gaps(choices, "window") if gap.task_type == "waits" and not gap.is_open)
    then = max(n_fail(candidate, "window") for candidate in last.candidates)
    assert gap.end == last.iteration and gap.length == 10
    assert then == 0 and ceil(then / LAMBDA + 2) == 2
