"""The survivor behind the seam: what its prompt tells decides what it does."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.bench.crafter.game import CrafterGame
from mage_es.engine.bench.crafter.handbook import RULES as PUBLISHED
from mage_es.engine.models.registry import open_model
from mage_es.engine.players.survivor.planning import reply as reply_to
from mage_es.engine.rules.prompt import quoted
from mage_es.engine.seams.model import Request
from tests.engine.players.survivor.prompts import ACTIONS, RULES, prompt, status, view


def reply(prompt: str, temperature: float = 0.0) -> str:
    return reply_to(Request(prompt=prompt, temperature=temperature))


def act(seen: str, stands: str = "", *, told: str = RULES, title: str = "Strategy") -> str:
    return reply(prompt(seen, stands, told=told, title=title)).rpartition("ACTION: ")[2]


BANK = "bank 3 steps to your east"


@pytest.mark.parametrize(
    ("seen", "stands", "action"),
    [
        (view(BANK, "moss 1 step to your north"), status(), "Move East"),
        (view("bank 1 step to your west", faced="moss"), status(), "Move West"),
        (view(BANK, faced="bank"), status(), "Do"),
        (view("moss 1 step to your north"), status({"clay": 2}), "Place Kiln"),
        (view("kiln 2 steps to your north-east", "moss 1 step to your west"), status({"clay": 1}), "Make Clay Pot"),
        (view("kiln 2 steps to your south", "moss 1 step to your west"), status({"clay": 1}), "Move South"),
        (view("pond 1 step to your west", faced="pond"), status({"clay_pot": 1}), "Do"),
        (view("wolf 1 step to your east", BANK, faced="wolf"), status(), "Do"),
    ],
)
def test_with_the_rules_told_every_step_leads_on(seen: str, stands: str, action: str) -> None:
    assert act(seen, stands) == action


def test_what_runs_low_comes_before_any_achievement() -> None:
    seen = view("bush 4 steps to your west", "bank 1 step to your east", faced="bank")
    assert act(seen, status(food=3)) == "Move West"
    assert act(seen, status(food=9)) == "Do"


def test_it_walks_around_what_is_in_the_way_and_never_where_it_is_deadly() -> None:
    blocked = view("bank 3 steps to your east", "pond 1 step to your east", "moss 1 step to your north", faced="pond")
    assert act(blocked).startswith("Move ") and act(blocked) != "Move East"
    for told in (
        view("ember 1 step to your east", faced="moss"),
        view("ember 1 step to your east", BANK, faced="moss"),
    ):
        assert act(told) != "Move East"


CLAY = "by Do facing bank, gives 1 clay"
TELLINGS = {
    "Corrected earlier": f"Question: World 5\nReply: collect clay: {CLAY}",
    "Principles": f"- `collect clay`: {CLAY}",
    "Patterns": "`Collect Clay`: facing bank, gives 1 clay",
    "Skill": f"Approach: 1. collect clay: {CLAY}",
}


def test_it_steps_onto_nothing_deadly_whatever_that_would_be_good_for() -> None:
    told = "gather ash: by Do facing ember, gives 1 ash\nstay alive: walk on moss or mud, never on ember"
    beside = "ember 1 step to your east"
    assert act(view(beside, "moss 1 step to your west", faced="moss"), told=told) in ACTIONS[1:5]
    assert act(view(beside, "moss 1 step to your west", faced="moss"), told=told) != "Move East"
    assert act(view(beside, "moss 1 step to your west", faced="ember"), told=told) == "Do"


@pytest.mark.parametrize("title", TELLINGS)
def test_one_telling_of_any_kind_is_enough_to_go_for_it(title: str) -> None:
    seen = view("bank 3 steps to your south", "moss 1 step to your west", faced="moss")
    said = reply(prompt(seen, told=TELLINGS[title], title=title))
    assert "trying" not in said and said.endswith("clay.\nACTION: Move South")


def test_what_stays_in_front_though_it_was_used_twice_is_left_alone() -> None:
    seen = view("bank 1 step to your south", "moss 1 step to your west", faced="bank")
    used = prompt(seen, told=RULES, past=[(seen, "Do"), (seen, "Do")])
    assert reply(used).rpartition("ACTION: ")[2] != "Do"


def test_asleep_it_waits() -> None:
    assert act(view(BANK, asleep=True)) == "Noop"


def test_it_says_why_unless_the_prompt_wants_the_action_only() -> None:
    assert reply(prompt(view(BANK), told=RULES)).startswith("Next step, for collect clay")
    bare = Request(system="Write nothing else: no reasoning.", prompt=prompt(view(BANK), told=RULES))
    assert reply_to(bare) == "ACTION: Move East"


def test_a_share_of_its_actions_is_a_trial_at_a_temperature() -> None:
    told = [prompt(view(BANK, faced="moss"), told=RULES, first=n, past=[(view(BANK), "Noop")]) for n in range(1, 400)]
    strayed = sum("trying" in reply(text, temperature=0.3) for text in told)
    assert 0.2 < strayed / len(told) < 0.4
    assert not any("trying" in reply(text) for text in told)


@given(st.text(max_size=300))
def test_no_prompt_makes_it_fail(text: str) -> None:
    assert reply(text) == "There is no action to choose from."
    assert reply(prompt(text, told=text)).rpartition("ACTION: ")[2] in ACTIONS


def test_the_same_prompt_has_the_same_reply_in_another_process() -> None:
    told = prompt(view("moss 1 step to your north"))
    code = (
        "from mage_es.engine.seams.model import Request;"
        "from mage_es.engine.players.survivor.planning import reply;"
        f"print(reply(Request(prompt={told!r})))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert said == {reply(told)}


def test_tokens_are_counted() -> None:
    stand_in = open_model("builtin/survivor", "execution")
    done = asyncio.run(stand_in.complete(Request(prompt=prompt(view(BANK)))))
    assert done.input_tokens > done.output_tokens > 0


@pytest.mark.slow
def test_in_the_real_game_what_it_is_told_is_worth_more_than_twice_what_it_finds_out() -> None:
    assert sum(played(seed, PUBLISHED) for seed in (1, 3, 5)) > 2 * sum(played(seed, "") for seed in (1, 3, 5)) > 0


def played(seed: int, told: str) -> float:
    """Return the progress after 120 steps."""
    game = CrafterGame(seed)
    seen = game.reset()
    past: list[str] = []
    for step in range(1, 121):
        parts = [f"## Strategy\n\n{quoted(told)}"] if told else []
        parts += ["## Task\n\nWorld", f"## Episode so far\n\n{quoted(chr(10).join(past[-16:]))}"]
        parts += [
            f"## Observation\n\n{quoted(seen.text)}",
            "## Valid actions\n\n" + "\n".join(f"- {a}" for a in game.valid_actions()),
        ]
        action = game.parse(reply("\n\n".join(parts)))
        past.append(f"{step}. Observation:\n{seen.recalled}\nAction: {action}")
        outcome = game.step(action)
        seen = outcome.observation
        if outcome.done:
            break
    return game.score()
