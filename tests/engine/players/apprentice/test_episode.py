"""What an episode has shown so far."""

from __future__ import annotations

from collections import Counter

import pytest

from mage_es.engine.players.apprentice.episode import (
    Episode,
    Surroundings,
    goal_of,
    steps_in,
    surroundings_in,
    things_of,
)
from mage_es.engine.players.prompts import PastStep
from tests.engine.players.apprentice.prompts import ACTIONS

HERE = Surroundings("hill", frozenset({"sand"}), Counter({"sand": 2}), {"forge": "lake"})
NOTHING = "Nothing happens."


def test_what_was_seen_at_each_place_is_known() -> None:
    steps = [
        PastStep("go to lake", "You walk to the lake. You see iron here."),
        PastStep("go to cave", "You walk to the cave. You see nothing of use here."),
    ]
    assert Episode(steps, HERE).seen == {"lake": {"iron"}, "cave": set(), "hill": {"sand"}}


def test_an_action_that_did_nothing_is_stale_here_until_something_is_gained() -> None:
    assert Episode([PastStep("make saw", NOTHING)], HERE).is_stale("make saw")
    assert not Episode([PastStep("make saw", NOTHING), PastStep("collect sand", "You collect sand.")], HERE).is_stale(
        "make saw"
    )


def test_what_did_nothing_elsewhere_may_be_tried_here() -> None:
    steps = [
        PastStep("go to lake", "You walk to the lake."),
        PastStep("make saw", NOTHING),
        PastStep("go to hill", "You walk to the hill."),
    ]
    assert not Episode(steps, HERE).is_stale("make saw")
    assert Episode(steps, HERE).failures["make saw"] == 1


def test_what_was_had_once_stays_known() -> None:
    episode = Episode([PastStep("make saw", "You make the saw at the forge. It took 1 iron.")], HERE)
    assert episode.had == {"saw"}


@pytest.mark.parametrize(
    ("task", "goal", "amount"),
    [
        ("Make the sword in 9 steps.", "sword", 1),
        (
            "In the north you start at the hill, carrying 2 sand and 1 saw. Collect 3 iron in at most 9 steps.",
            "iron",
            3,
        ),
        ("Within 9 steps, build the forge; the land is the north. Start: at the lake, carrying 1 iron.", "forge", 1),
        (
            "Your goal: make the saw. You begin at the hill, where the forge stands at the lake, and have 9 steps.",
            "saw",
            1,
        ),
        ("Get as far as you can. You are at the hill, carrying 1 saw.", "", 1),
    ],
)
def test_the_goal_is_the_thing_that_the_task_names_outside_of_its_situation(task: str, goal: str, amount: int) -> None:
    assert goal_of(task, things_of(ACTIONS)) == (goal, amount)


def test_surroundings_are_read_off_the_observation_and_the_latest_word_counts() -> None:
    here = surroundings_in(
        "You walk to the lake. You see iron here. You are at the lake. You see iron and sand here. "
        "You carry 2 sand and 1 saw. The forge stands at the hill. 4 steps left."
    )
    assert here == Surroundings("lake", frozenset({"iron", "sand"}), Counter(sand=2, saw=1), {"forge": "hill"})


def test_the_episode_so_far_is_a_list_of_steps() -> None:
    text = "1. go to lake: You walk to the lake. You see iron here.\n2. collect iron\n3. (no action): Hm."
    assert steps_in(text) == [
        PastStep("go to lake", "You walk to the lake. You see iron here."),
        PastStep("collect iron", ""),
        PastStep("(no action)", "Hm."),
    ]
    assert steps_in("") == []


def test_things_are_what_can_be_collected_built_or_made() -> None:
    assert things_of(["go to hill", "collect sand", "sing"]) == {"sand": "collect sand"}
