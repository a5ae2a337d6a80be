"""Milestones: the achievements of an episode without a goal, each with what led to it."""

import pytest

from mage_es.engine.rules.action_recipes import Milestone, account_of_milestone, milestones
from tests.engine.rules.episodes import stepped


@pytest.mark.paper("section 4, Crafter, success memories")
def test_a_milestone_has_the_last_three_actions_and_what_was_seen_before_them() -> None:
    steps = [stepped(1, "a"), stepped(2, "b"), stepped(3, "c"), stepped(4, "d"), stepped(5, "e", "won")]
    assert milestones(steps) == [Milestone("won", "after 2", ("c", "d", "e"))]


def test_early_in_an_episode_the_actions_after_the_first_observation_on_record_count() -> None:
    assert milestones([stepped(1, "a"), stepped(2, "b", "won")]) == [Milestone("won", "after 1", ("b",))]
    assert milestones([stepped(1, "a", "won")]) == []


def test_two_at_once_are_two_and_a_reply_without_action_is_no_part() -> None:
    steps = [stepped(1, "a"), stepped(2, "b"), stepped(3, ""), stepped(4, "c"), stepped(5, "d", "x", "y")]
    assert milestones(steps) == [Milestone(name, "after 1", ("b", "c", "d")) for name in ("x", "y")]
    assert milestones([stepped(1, ""), stepped(2, "", "luck")]) == []


def test_its_account_says_what_was_seen_and_done() -> None:
    told = account_of_milestone(Milestone("won", "A tree.", ("go", "do")))
    assert told == "Observation:\nA tree.\nAction: go\nAction: do"
