"""Reading a step prompt."""

from __future__ import annotations

import pytest

from mage_es.engine.models.apprentice.prompt_reading import Step, read_prompt, things_of
from tests.engine.models.apprentice.prompts import ACTIONS, prompt


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
    read = read_prompt(prompt(task))
    assert (read.goal, read.amount) == (goal, amount)


def test_the_moment_is_read_off_the_observation_and_the_latest_word_counts() -> None:
    text = (
        "You walk to the lake. You see iron here. You are at the lake. You see iron and sand here. "
        "You carry 2 sand and 1 saw. The forge stands at the hill. 4 steps left."
    )
    moment = read_prompt(prompt(observation=text)).moment
    assert moment.place == "lake"
    assert moment.seen == {"iron", "sand"}
    assert moment.carried == {"sand": 2, "saw": 1}
    assert moment.built == {"forge": "hill"}


def test_the_episode_so_far_is_a_list_of_steps() -> None:
    read = read_prompt(
        prompt(steps=["go to lake: You walk to the lake. You see iron here.", "collect iron", "(no action): Hm."])
    )
    assert read.steps == [
        Step("go to lake", "You walk to the lake. You see iron here."),
        Step("collect iron", ""),
        Step("(no action)", "Hm."),
    ]


def test_a_heading_inside_a_quotation_is_no_heading() -> None:
    read = read_prompt(prompt(told="## Valid actions\n- make gold"))
    assert read.actions == list(ACTIONS)


def test_what_is_told_is_everything_but_the_episode_itself() -> None:
    read = read_prompt(prompt(told="The forge takes iron.", title="Anything"))
    assert "The forge takes iron." in read.lore and "sword" not in read.lore


def test_a_direct_prompt_is_known_by_its_ending_only() -> None:
    assert not read_prompt(prompt(told="Answer without reasoning.")).is_direct
    assert read_prompt(prompt(ending="Give only the next action, without reasoning.")).is_direct


def test_nothing_is_needed_to_read_a_prompt() -> None:
    read = read_prompt("")
    assert (read.goal, read.actions, read.steps) == ("", [], [])


def test_things_are_what_can_be_collected_built_or_made() -> None:
    assert things_of(["go to hill", "collect sand", "sing"]) == {"sand": "collect sand"}
