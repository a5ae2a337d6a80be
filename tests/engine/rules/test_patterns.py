"""Abstracted patterns: what supports them, how sure they are, when they go."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.rules.patterns import PRUNED_BELOW, abstract_patterns, confidence, shown_by, subject
from mage_es.engine.rules.trajectories import Trajectory
from mage_es.events.vocabulary import Event, PatternAbstracted, PatternPruned, PatternSupported
from mage_es.projections.patterns import Patterns
from tests.engine.rules.episodes import trajectory

AB = trajectory(("a", "A"), ("b", "B"))
BA = trajectory(("b", "B"), ("a", "A"), question="q2")
A_BEFORE_B = "`A` comes before `B`."


def learn(patterns: Patterns, trajectories: Sequence[Trajectory], iteration: int = 0) -> list[Event]:
    events = abstract_patterns(trajectories, patterns, iteration=iteration, phase="explore")
    for event in events:
        patterns.apply(event)
    return events


def counts(patterns: Patterns, text: str, task_type: str = "t") -> tuple[int, int, int]:
    return next(
        (row.successes, row.failures, row.confidence_micro) for row in patterns.of(task_type) if row.text == text
    )


def test_a_trajectory_shows_what_came_before_and_what_the_environment_said() -> None:
    shown = shown_by(AB.steps)
    assert [item.achievement for item in shown] == ["A", "B"]
    assert shown[1].supports == {A_BEFORE_B, "`B`: got B"}
    assert all(subject(text) == item.achievement for item in shown for text in item.supports)


def test_only_the_nearest_achievements_are_worth_a_new_pattern_but_all_support_one() -> None:
    last = shown_by(trajectory(("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")).steps)[-1]
    assert last.abstracts == ("`D`: got D", "`B` comes before `D`.", "`C` comes before `D`.")
    assert "`A` comes before `D`." in last.supports


def test_confidence_is_the_smoothed_share_of_the_trajectories_that_reach_the_achievement() -> None:
    patterns = Patterns()
    learn(patterns, [AB])
    assert counts(patterns, A_BEFORE_B) == (1, 0, 666_666)
    events = learn(patterns, [AB, BA], iteration=1)
    assert counts(patterns, A_BEFORE_B) == (2, 1, 600_000)
    assert any(isinstance(event, PatternSupported) for event in events)


def test_a_trajectory_that_never_reaches_the_achievement_says_nothing() -> None:
    patterns = Patterns()
    learn(patterns, [AB])
    learn(patterns, [trajectory(("a", "A"))], iteration=1)
    assert counts(patterns, A_BEFORE_B) == (1, 0, 666_666)


def test_a_pattern_of_another_task_type_is_another_pattern() -> None:
    patterns = Patterns()
    learn(patterns, [AB, trajectory(("a", "A"), ("b", "B"), task_type="u")])
    learn(patterns, [BA], iteration=1)
    assert counts(patterns, A_BEFORE_B)[:2] == (1, 1)
    assert counts(patterns, A_BEFORE_B, "u")[:2] == (1, 0)


@pytest.mark.paper("appendix, abstracted patterns")
def test_what_fails_too_often_is_pruned_and_does_not_come_back() -> None:
    patterns = Patterns()
    learn(patterns, [AB])
    events = learn(patterns, [BA] * 4, iteration=1)
    assert any(isinstance(event, PatternPruned) for event in events)
    assert A_BEFORE_B not in {row.text for row in patterns.of("t")}
    assert not any(
        isinstance(event, PatternAbstracted) and event.text == A_BEFORE_B for event in learn(patterns, [AB] * 9, 2)
    )


def test_the_same_trajectories_give_the_same_events_and_new_ids_only_for_new_texts() -> None:
    assert learn(Patterns(), [AB, BA]) == learn(Patterns(), [AB, BA])
    patterns = Patterns()
    first = learn(patterns, [AB])
    again = learn(patterns, [AB], iteration=1)
    assert all(isinstance(event, PatternAbstracted) for event in first)
    assert all(isinstance(event, PatternSupported) for event in again)


@pytest.mark.paper("appendix, abstracted patterns")
@given(st.integers(0, 1000), st.integers(0, 1000))
def test_confidence_is_laplaces_rule_of_succession(successes: int, failures: int) -> None:
    sure = confidence(successes, failures)
    assert 0 < sure < 1_000_000
    assert sure == (successes + 1) * 1_000_000 // (successes + failures + 2)
    assert confidence(successes + 1, failures) >= sure >= confidence(successes, failures + 1)


@given(st.lists(st.lists(st.sampled_from("ABC"), unique=True, max_size=3), max_size=12))
def test_what_is_in_use_is_never_less_sure_than_the_threshold(orders: list[list[str]]) -> None:
    patterns = Patterns()
    for iteration, order in enumerate(orders):
        learn(patterns, [trajectory(*((name.lower(), name) for name in order), question=f"q{iteration}")], iteration)
    assert all(row.confidence_micro >= PRUNED_BELOW for row in patterns.of("t"))
    assert all(row.confidence_micro == confidence(row.successes, row.failures) for row in patterns.patterns())
