"""Reference plans."""

import heapq
from collections.abc import Iterator

import pytest

from mage_es.engine.players.worlds.workshop.game import ACTIONS, WorkshopGame
from mage_es.engine.players.worlds.workshop.lands import LANDS, Land, land
from mage_es.engine.players.worlds.workshop.plans import WorkshopSituation, short_plan
from mage_es.engine.players.worlds.workshop.tasks import Task, draw


def played(task: Task, plan: list[str]) -> float:
    game = WorkshopGame(task)
    game.reset()
    for action in plan:
        game.step(action)
    return game.score()


def test_a_plan_reaches_its_goal() -> None:
    for index in range(150):
        task = draw(9, "evolution", index)
        rules = land(task.seed, task.land)
        plan = short_plan(rules, task.situation, task.goal or rules.tiers[-1][-1], task.count)
        assert set(plan) <= set(ACTIONS), index
        if task.goal:
            assert played(task, plan) == 1.0 > played(task, plan[:-1]), index
        else:  # who makes the masterpiece has everything but a material of which enough was there
            assert played(task, plan) >= 0.9, index


def shortest(rules: Land, start: WorkshopSituation, goal: str) -> int:
    """Search all situations for the least number of actions to one good, carrying at most five of anything."""
    queue = [(0, start.place, tuple(sorted(start.carried.items())), tuple(sorted(start.built.items())))]
    seen = set()
    while queue:
        length, place, carried, built = heapq.heappop(queue)
        if dict(carried).get(goal, 0) or goal in dict(built):
            return length
        if (place, carried, built) not in seen:
            seen.add((place, carried, built))
            for state in successors(rules, place, dict(carried), dict(built)):
                heapq.heappush(queue, (length + 1, *state))
    raise AssertionError("there is no way")


Reached = tuple[str, tuple[tuple[str, int], ...], tuple[tuple[str, str], ...]]


def successors(rules: Land, place: str, carried: dict[str, int], built: dict[str, str]) -> Iterator[Reached]:
    def reached(place: str, carried: dict[str, int], built: dict[str, str]) -> Reached:
        return place, tuple(sorted((k, v) for k, v in carried.items() if v)), tuple(sorted(built.items()))

    for material, where in rules.found_at.items():
        yield reached(where, carried, built)
        can = where == place and (not rules.tools[material] or carried.get(rules.tools[material], 0))
        if can and carried.get(material, 0) < 5:
            yield reached(place, {**carried, material: carried.get(material, 0) + 1}, built)
    for thing, (takes, station) in rules.recipes.items():
        has = all(carried.get(part, 0) >= amount for part, amount in takes.items())
        if not has or (station and built.get(station) != place) or thing in built:
            continue
        left = {part: amount - takes.get(part, 0) for part, amount in carried.items()}
        if thing in ("bench", "kiln"):
            yield reached(place, left, {**built, thing: place})
        else:
            yield reached(place, {**left, thing: left.get(thing, 0) + 1}, built)


@pytest.mark.parametrize("name", LANDS)
def test_a_plan_to_the_first_tool_is_hardly_longer_than_the_shortest(name: str) -> None:
    rules = land(4, name)
    start = WorkshopSituation("cave", {}, {})
    tool = rules.tiers[1][0]
    least = shortest(rules, start, tool)
    assert least <= len(short_plan(rules, start, tool)) <= least + 3
