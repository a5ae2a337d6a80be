"""Tasks as they are drawn."""

from mage_es.engine.players.worlds.workshop.lands import LANDS, PLACES, land
from mage_es.engine.players.worlds.workshop.plans import short_plan
from mage_es.engine.players.worlds.workshop.tasks import KINDS, LONGEST_PLAN, draw

TASKS = [draw(3, "evolution", index) for index in range(300)]


def test_the_label_decides() -> None:
    assert draw(3, "evolution", 7) == draw(3, "evolution", 7)
    assert draw(3, "evolution", 7) != draw(3, "test", 7)
    assert draw(3, "evolution", 7) != draw(4, "evolution", 7)


def test_every_land_and_kind_occurs_and_the_type_names_both() -> None:
    assert {task.task_type for task in TASKS} == {f"{name}_{kind}" for name in LANDS for kind in KINDS}


def test_the_goal_is_of_the_tier_that_the_kind_names_and_is_not_there_yet() -> None:
    for task in TASKS:
        if task.goal:
            assert task.goal in land(task.seed, task.land).tiers[KINDS.index(task.kind)]
            assert task.goal not in task.built and task.goal not in task.carried
        assert task.place in PLACES


def test_there_is_time_for_half_as_many_steps_again_as_the_plan_has() -> None:
    for task in TASKS:
        if task.goal:
            plan = short_plan(land(task.seed, task.land), task.situation, task.goal, task.count)
            assert 2 <= len(plan) <= LONGEST_PLAN
            assert task.steps == len(plan) + len(plan) // 2 + 4
