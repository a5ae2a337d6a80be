"""What an episode has shown so far."""

from __future__ import annotations

from collections import Counter

from mage_es.engine.models.apprentice.episode import Episode
from mage_es.engine.models.apprentice.prompt_reading import Moment, Step

HERE = Moment("hill", frozenset({"sand"}), Counter({"sand": 2}), {"forge": "lake"})
NOTHING = "Nothing happens."


def test_what_was_seen_at_each_place_is_known() -> None:
    steps = [
        Step("go to lake", "You walk to the lake. You see iron here."),
        Step("go to cave", "You walk to the cave. You see nothing of use here."),
    ]
    assert Episode(steps, HERE).seen == {"lake": {"iron"}, "cave": set(), "hill": {"sand"}}


def test_an_action_that_did_nothing_is_stale_here_until_something_is_gained() -> None:
    assert Episode([Step("make saw", NOTHING)], HERE).is_stale("make saw")
    assert not Episode([Step("make saw", NOTHING), Step("collect sand", "You collect sand.")], HERE).is_stale(
        "make saw"
    )


def test_what_did_nothing_elsewhere_may_be_tried_here() -> None:
    steps = [
        Step("go to lake", "You walk to the lake."),
        Step("make saw", NOTHING),
        Step("go to hill", "You walk to the hill."),
    ]
    assert not Episode(steps, HERE).is_stale("make saw")
    assert Episode(steps, HERE).failures["make saw"] == 1


def test_what_was_had_once_stays_known() -> None:
    episode = Episode([Step("make saw", "You make the saw at the forge. It took 1 iron.")], HERE)
    assert episode.had == {"saw"}
    assert episode.carries("sand") == 2 and episode.carries("saw") == 0
    assert episode.built == {"forge": "lake"}
