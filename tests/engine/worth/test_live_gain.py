"""The live gain compares sessions by the coin's side, and claims no more than they carry."""

from random import Random
from typing import Any

import pytest

from mage_es.engine.rules.distributions import LEAST
from mage_es.engine.serving.rules.sittings import visits
from mage_es.engine.worth.live_gain import NEWCOMBE, WELCH, compare_sides, newcombe, welch
from mage_es.events.vocabulary import MICRO, FeedbackGiven, InferenceClosed, ServingStarted
from tests.engine.serving.rules.test_feedback import inference

STARTED = ServingStarted(
    process=1, learn="propose", holdback_micro=MICRO // 2, salt="ab" * 16, has_texts=False, upstream=""
)


def word(session: str, value: float, *, about: str = "", metric: str = "good", kind: Any = "float") -> FeedbackGiven:
    return FeedbackGiven(
        feedback=f"{session}{about}{metric}{value}",
        inference=about,
        session=session,
        metric=metric,
        kind=kind,
        value_micro=round(MICRO * value),
        text="",
        key="",
    )


def closed(name: str, tokens: int, *, outcome: Any = "answered") -> InferenceClosed:
    return InferenceClosed(
        inference=name,
        outcome=outcome,
        status=200,
        problem="",
        input_tokens=tokens,
        cached_tokens=-1,
        output_tokens=-1,
        latency_us=2 * MICRO,
        overhead_us=0,
    )


def test_a_session_is_one_value_by_its_last_words_and_of_the_type_it_began_with() -> None:
    opened = [inference("inf-1-1"), inference("inf-1-2", task_type="u"), inference("inf-1-3")]
    words = [
        word("s", 0.0, about="inf-1-1"),
        word("s", 1.0, about="inf-1-1"),
        word("s", 0.5, about="inf-1-2"),
        word("s", 0.6),
    ]
    ended = [closed("inf-1-1", 10), closed("inf-1-2", 30), closed("inf-1-3", 99, outcome="left")]
    [one] = visits([STARTED], opened, ended, words)
    assert one.scores == {"good": pytest.approx(0.7)} and one.task_type == "t" and not one.is_held_back
    assert (one.input_tokens, one.output_tokens, one.latency_s) == (20, None, 2)


def test_the_coin_decides_the_side_also_where_nothing_was_found() -> None:
    names = [f"s{n}" for n in range(400)]
    opened = [inference(f"inf-1-{n}", session=name, treatment="none") for n, name in enumerate(names)]
    held = sum(each.is_held_back for each in visits([STARTED], opened, [], []))
    assert 150 < held < 250
    told = visits([STARTED], [inference("inf-1-1", treatment="holdback")], [], [])
    assert [each.is_held_back for each in told] == [True]


@pytest.mark.parametrize("treatment", ["off", "shadow"])
def test_a_session_of_whom_the_client_decided_is_on_neither_side(treatment: Any) -> None:
    assert not visits([STARTED], [inference("inf-1-1"), inference("inf-1-2", treatment=treatment)], [], [])


def test_below_its_least_there_is_no_interval_and_the_missing_sessions_are_told() -> None:
    found = compare_sides([(False, 1.0)] * LEAST + [(True, 0.0)] * (LEAST - 3) + [(True, None)] * 9)
    assert (found.low, found.high, found.missing) == (None, None, 3) and found.difference == 1
    nothing = compare_sides([])
    assert nothing.difference is None and nothing.missing == 2 * LEAST


def test_the_intervals_are_those_of_the_books() -> None:
    # Newcombe 1998, table II, column (a): 56/70 against 48/80, method 10.
    low, high = newcombe([1.0] * 56 + [0.0] * 14, [1.0] * 48 + [0.0] * 32)
    assert (low, high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))
    from scipy.stats import ttest_ind

    one, other = [0.2, 0.4, 0.9, 0.5], [0.1, 0.3, 0.2]
    expected = ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert welch(one, other) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_shares_take_newcombes_interval_and_means_welchs() -> None:
    ones = [(back, 1.0) for back in (False, True) for _ in range(LEAST)]
    assert compare_sides(ones).method == NEWCOMBE and compare_sides([*ones, (True, 0.5)]).method == WELCH
    found = compare_sides(ones)
    assert found.low is not None and found.low < 0 < (found.high or 0), "certainty is not claimed of 20 sessions"


@pytest.mark.slow
def test_the_interval_holds_the_true_gain_in_nineteen_of_twenty_draws() -> None:
    random, held = Random(1), 0
    for _ in range(1000):
        sessions = [(random.random() < 0.2, random.betavariate(2, 2)) for _ in range(300)]
        low, high = (
            (found := compare_sides((back, value + 0.1 * (not back)) for back, value in sessions)).low,
            found.high,
        )
        held += low is not None and high is not None and low <= 0.1 <= high
    assert held >= 0.92 * 1000  # four standard errors below 95 %
