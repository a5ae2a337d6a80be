"""A world follows from its seed, and its kinds of land are related as they should be."""

from __future__ import annotations

import pytest

from mage_es.engine.players.worlds.truthworld.world import ROUTES, HiddenWorld, Rule, WorldShape, world_of


def test_the_same_seed_gives_the_same_world_and_another_seed_another() -> None:
    one, same, other = HiddenWorld(42), HiddenWorld(42), HiddenWorld(43)
    assert (one.marks, one.task_types) == (same.marks, same.task_types)
    assert set(one.marks).isdisjoint(other.marks) or one.marks != other.marks
    assert world_of(42) is world_of(42)


def test_the_common_belief_about_a_mark_is_always_wrong() -> None:
    assert all(mark.decoy != mark.rule for seed in range(20) for mark in HiddenWorld(seed).marks.values())


def test_an_alliance_has_the_marks_of_two_lands_and_a_court_those_of_one() -> None:
    kinds: dict[str, list[frozenset[str]]] = {"land": [], "alliance": [], "court": []}
    for task_type in HiddenWorld(7).task_types.values():
        kinds[task_type.kind].append(frozenset(task_type.marks))
    assert [len(kinds[kind]) for kind in kinds] == [5, 2, 1]
    assert all(
        any(joint == one | other for one in kinds["land"] for other in kinds["land"]) for joint in kinds["alliance"]
    )
    assert kinds["court"][0] in kinds["land"]


def test_every_route_but_direct_is_the_favourite_of_some_land() -> None:
    assert {task_type.favoured for task_type in HiddenWorld(7).task_types.values()} == set(ROUTES)


def test_a_world_of_another_shape_has_that_shape() -> None:
    world = HiddenWorld(7, WorldShape(lands=3, alliances=1, courts=2, marks=4))
    assert len(world.task_types) == 6
    assert len(world.marks) == 12


def test_a_rule_does_what_it_says() -> None:
    rules = {Rule("add", 4): 14, Rule("take away", 4): 6, Rule("multiply by", 4): 40}
    assert {rule: rule.apply(10) for rule in rules} == rules


def test_an_unknown_task_type_is_named_in_the_error() -> None:
    with pytest.raises(KeyError, match="truthworld_nowhere"):
        HiddenWorld(7).named("truthworld_nowhere")
