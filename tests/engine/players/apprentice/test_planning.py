"""The apprentice behind the seam: what its prompt tells decides what it does."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.models.registry import open_model
from mage_es.engine.players.apprentice.planning import reply as reply_to
from mage_es.engine.seams.model import Request
from tests.engine.players.apprentice.prompts import ACTIONS, prompt

RULES = (
    "You walk to the lake. You see iron here.\nYou collect iron with the saw.\nYou collect sand.\n"
    "You build the forge. It took 1 sand.\nYou make the saw at the forge. It took 2 sand.\n"
    "You make the sword at the forge. It took 1 iron and 1 saw."
)


def reply(prompt: str, temperature: float = 0.0) -> str:
    return reply_to(Request(prompt=prompt, temperature=temperature))


def act(
    observation: str, *, told: str = RULES, steps: Sequence[str] = (), task: str = "Make the sword in 9 steps."
) -> str:
    return reply(prompt(task, observation=observation, told=told, steps=steps)).rpartition("Action: ")[2]


@pytest.mark.parametrize(
    ("observation", "action"),
    [
        ("You are at the hill. You see sand here. You carry nothing.", "collect sand"),
        ("You are at the lake. You see iron here. You carry nothing.", "go to hill"),
        ("You are at the hill. You see sand here. You carry 1 saw.", "collect sand"),
        ("You are at the hill. You see sand here. You carry 4 sand.", "build forge"),
        ("You are at the hill. You see sand here. You carry 3 sand. The forge stands at the hill.", "make saw"),
        ("You are at the lake. You see iron here. You carry 1 saw. The forge stands at the hill.", "collect iron"),
        ("You are at the lake. You carry 1 saw, 1 iron. The forge stands at the hill.", "go to hill"),
        ("You are at the hill. You carry 1 saw, 1 iron. The forge stands at the hill.", "make sword"),
    ],
)  # fmt: skip
def test_with_the_rules_told_every_step_leads_on(observation: str, action: str) -> None:
    steps = ["go to hill: You walk to the hill. You see sand here."] if "lake" in observation else []
    assert act(observation, steps=steps) == action


def test_on_its_way_it_takes_along_what_will_be_needed() -> None:
    seen = "You are at the hill. You see sand here. You carry 1 sand and 1 iron. The forge stands at the lake."
    assert act(seen) == "collect sand"


def test_a_material_that_is_not_where_it_was_said_to_be_is_looked_for_elsewhere() -> None:
    actions = [*ACTIONS, "go to cave"]
    text = prompt(
        "Collect 1 iron.",
        observation="You are at the lake. You see nothing of use here. You carry 1 saw.",
        told=RULES,
        steps=["go to hill: You walk to the hill. You see sand here."],
        actions=actions,
    )
    assert reply(text).endswith("Action: go to cave")


def test_without_amounts_one_more_of_each_part_is_tried_after_a_failure() -> None:
    told = "`collect sand` comes before `build forge`."
    seen = "You are at the hill. You see sand here. You carry 1 sand."
    assert act(seen, told=told, task="Build the forge.") == "build forge"
    assert act(seen, told=told, task="Build the forge.", steps=["build forge: Nothing happens."]) == "collect sand"


def test_where_no_one_thing_is_asked_for_what_is_nearest_comes_first() -> None:
    task = "Get as far as you can."
    assert act("You are at the hill. You see sand here. You carry nothing.", task=task) == "collect sand"
    seen = "You are at the hill. You see sand here. You carry 1 sand."
    assert act(seen, task=task, steps=["collect sand: You collect sand."]) == "build forge"


def test_without_any_account_it_tries_what_is_in_sight_and_where_it_has_not_been() -> None:
    tried = {
        act(f"You are at the hill. You see sand here. You carry nothing. {left} steps left.", told="")
        for left in range(30)
    }
    assert tried <= {"collect sand", "go to lake"} and len(tried) == 2


def test_a_direct_prompt_gets_the_action_alone() -> None:
    bare = Request(system="Write nothing else: no reasoning.", prompt=prompt(told=RULES))
    assert reply_to(bare) == "Action: collect sand"
    assert reply(prompt(told=RULES)).count("\n") == 1


def test_at_a_temperature_that_share_of_its_actions_is_tried_out() -> None:
    seen = "You are at the hill. You see sand here. You carry 4 sand."
    texts = [prompt(observation=f"{seen} {left} steps left.", told=RULES) for left in range(300)]
    trials = sum("trying things" in reply(text, temperature=0.3) for text in texts)
    assert 60 < trials < 120
    assert not any("trying things" in reply(text) for text in texts)


def test_a_prompt_without_actions_is_answered_all_the_same() -> None:
    assert reply("What is 2 + 2?") == "There is no action to choose from."


@given(st.text(max_size=400))
def test_no_prompt_makes_it_fail(text: str) -> None:
    assert reply(text)
    assert reply(prompt(text, observation=text, told=text, steps=[text]))


def test_in_a_game_that_it_does_not_know_it_tries_actions_in_the_form_that_is_asked_for() -> None:
    request = Request(prompt=prompt(actions=("Noop", "Do")), system='Finish with a line such as "ACTION: <Noop>".')
    assert reply_to(request).rpartition("\n")[2] in ("ACTION: Noop", "ACTION: Do")


def test_it_answers_with_what_it_was_asked_and_counts_tokens() -> None:
    completion = asyncio.run(open_model("builtin/apprentice", "execution").complete(Request(prompt=prompt(told=RULES))))
    assert completion.text.endswith("Action: collect sand")
    assert completion.input_tokens > completion.output_tokens > 0


def test_the_reply_is_the_same_bytes_in_another_process_with_another_hash_seed() -> None:
    code = (
        "from mage_es.engine.seams.model import Request;"
        "from mage_es.engine.players.apprentice.planning import reply;"
        f"print([reply(Request(prompt=t, temperature=0.3)) for t in {[prompt(), prompt(told=RULES)]!r}])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "7")
    }
    assert len(said) == 1
