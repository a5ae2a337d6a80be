"""One episode, step by step."""

import os
import subprocess
import sys

import pytest

from mage_es.engine.players.worlds.workshop.game import ACTIONS, WorkshopGame
from mage_es.engine.players.worlds.workshop.lands import MATERIALS, Land, land
from mage_es.engine.players.worlds.workshop.tasks import Task
from mage_es.engine.seams.environment import Relation, StepOutcome

RULES: Land = land(1, "marsh")
STATION, TOOL = RULES.tiers[0][2], RULES.tiers[1][0]
BY_HAND = RULES.tiers[0][0]
BY_TOOL = RULES.tiers[1][1]


def game(
    goal: str = TOOL, *, count: int = 1, carried: dict[str, int] | None = None, steps: int = 30, **more: str
) -> WorkshopGame:
    place = more.get("place", RULES.found_at[BY_HAND])
    built = {STATION: more["station"]} if "station" in more else {}
    kind = "tools" if goal else "open"
    task = Task(
        seed=1,
        land="marsh",
        kind=kind,
        goal=goal,
        count=count,
        place=place,
        carried=carried or {},
        built=built,
        steps=steps,
    )
    found = WorkshopGame(task)
    found.reset()
    return found


def test_there_are_seventeen_actions_whatever_happens() -> None:
    playing = game()
    assert len(set(ACTIONS)) == 17
    playing.step(f"collect {BY_HAND}")
    assert playing.valid_actions() == ACTIONS


def test_an_action_that_cannot_be_done_says_nothing_of_why() -> None:
    playing = game(place=next(place for place in RULES.found_at.values() if place != RULES.found_at[BY_HAND]))
    for action in (f"collect {BY_HAND}", f"build {STATION}", f"make {TOOL}"):
        outcome = playing.step(action)
        assert outcome.effect == "Nothing happens."
        assert outcome.achievements == () and outcome.reward == 0.0


def test_what_a_thing_takes_is_used_up_and_told_when_it_is_made() -> None:
    takes = RULES.recipes[TOOL].takes
    playing = game(carried=dict(takes), place="cave", station="cave")
    outcome = playing.step(f"make {TOOL}")
    assert outcome.effect.startswith(f"You make the {TOOL} at the {STATION}. It took ")
    assert f"You carry 1 {TOOL}." in outcome.observation.text
    assert outcome.done and playing.score() == 1.0


def test_a_good_is_made_only_where_its_station_stands() -> None:
    playing = game(carried=dict(RULES.recipes[TOOL].takes), place="cave", station="river")
    assert playing.step(f"make {TOOL}").effect == "Nothing happens."
    playing.step("go to river")
    assert playing.step(f"make {TOOL}").done


def test_a_material_that_takes_a_tool_is_collected_only_with_it() -> None:
    where = RULES.found_at[BY_TOOL]
    assert game(BY_TOOL, place=where).step(f"collect {BY_TOOL}").effect == "Nothing happens."
    outcome = game(BY_TOOL, place=where, carried={TOOL: 1}).step(f"collect {BY_TOOL}")
    assert outcome.effect == f"You collect {BY_TOOL} with the {TOOL}."
    assert outcome.observation.relations == (Relation(f"{BY_TOOL} (marsh)", "needs", f"{TOOL} (marsh)"),)


def test_a_station_is_built_once() -> None:
    playing = game(carried={part: 2 * amount for part, amount in RULES.recipes[STATION].takes.items()})
    assert playing.step(f"build {STATION}").achievements == (f"build {STATION}",)
    assert playing.step(f"build {STATION}").effect == "Nothing happens."


def test_an_achievement_counts_once_and_rewards_add_up_to_the_score() -> None:
    playing = game(goal="", steps=6)
    outcomes: list[StepOutcome] = [playing.step(f"collect {BY_HAND}") for _ in range(3)]
    assert [outcome.achievements for outcome in outcomes] == [(f"collect {BY_HAND}",), (), ()]
    assert sum(outcome.reward for outcome in outcomes) == pytest.approx(playing.score()) == pytest.approx(1 / 12)


def test_a_missed_goal_is_worth_less_than_half_however_near() -> None:
    playing = game(BY_HAND, count=3, steps=2)
    playing.step(f"collect {BY_HAND}")
    outcome = playing.step(f"collect {BY_HAND}")
    assert outcome.done and 0 < playing.score() < 0.5


def test_what_is_given_at_the_start_is_no_achievement_and_not_wanted() -> None:
    playing = game(goal="", carried={BY_HAND: 1}, steps=3)
    playing.step(f"collect {BY_HAND}")
    assert playing.score() == 0.0


def test_a_reply_without_an_action_costs_its_step() -> None:
    playing = game(steps=2)
    assert playing.parse("I would rather not.") is None
    outcome = playing.step(None)
    assert outcome.effect == "That is no action." and "1 step left" in outcome.observation.text
    assert playing.step(None).done


def test_a_reply_is_read_in_any_case_and_with_any_spacing() -> None:
    playing = game()
    assert playing.parse("I must walk.\nAction: Go  to CAVE.") == "go to cave"
    assert playing.parse("Action: go to the cave") is None


def test_the_status_says_place_sight_load_stations_and_steps() -> None:
    playing = game(carried={"wood": 2}, place="cave", station="river")
    seen = [material for material in MATERIALS if RULES.found_at[material] == "cave"]
    text = playing.step("go to river").observation.text
    assert text.endswith(f"You carry 2 wood. The {STATION} stands at the river. 29 steps left.")
    assert "You are at the river." in text
    assert seen and f"You see {seen[0]} here." in playing.step("go to cave").observation.text


@pytest.mark.slow
def test_the_same_actions_give_the_same_episode_in_another_process() -> None:
    code = (
        "from mage_es.engine.players.worlds.workshop.benchmark import Workshop; b = Workshop(6);"
        "q = b.questions('evolution')[3]; e = b.environment(q); print(e.reset());"
        "print([e.step(a) for a in e.valid_actions()[:4]], q.question, b.data_sha256)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }
    assert len(said) == 1 and "You are at" in said.pop()
