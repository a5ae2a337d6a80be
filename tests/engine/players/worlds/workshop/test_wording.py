"""Tasks in words."""

from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.players.worlds.workshop.lands import LANDS
from mage_es.engine.players.worlds.workshop.tasks import draw
from mage_es.engine.players.worlds.workshop.wording import FAMILIES, UNFAMILIAR, family, listed, standing, statement

TASKS = [draw(3, "evolution", index) for index in range(60)]
EVERY = [f"familiar-{n}" for n in range(len(FAMILIES))] + [f"unfamiliar-{n}" for n in range(len(UNFAMILIAR))]


def test_every_way_says_land_goal_place_and_steps() -> None:
    for task in TASKS:
        for way in EVERY:
            text = statement(task, way)
            assert task.land in text and task.place in text and str(task.steps) in text
            assert task.goal in text or not task.goal
            assert "{" not in text and "  " not in text
            assert sum(name in text for name in LANDS) == 1


def test_what_is_carried_and_built_is_said() -> None:
    task = next(task for task in TASKS if task.carried and task.built)
    text = statement(task, "familiar-0")
    assert f"carrying {listed(task.carried)}" in text
    assert standing(task.built) in text


def test_only_the_test_split_uses_ways_that_evolution_never_shows() -> None:
    learned = {family(Dice(f"a{n}"), "evolution") for n in range(300)}
    asked = {family(Dice(f"a{n}"), "test") for n in range(300)}
    assert learned == {way for way in EVERY if way.startswith("familiar")}
    assert asked == set(EVERY)


def test_amounts_are_listed_as_one_says_them() -> None:
    assert listed({}) == ""
    assert listed({"axe": 1}) == "1 axe"
    assert listed({"axe": 1, "wood": 2}) == "2 wood and 1 axe"
    assert listed({"axe": 1, "wood": 2, "ore": 3, "clay": 0}) == "2 wood, 3 ore and 1 axe"
