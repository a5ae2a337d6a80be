"""Action recipes: the last actions before an achievement."""

import pytest

from mage_es.engine.rules.action_recipes import harvest_recipes, last_actions, recipe_id
from mage_es.projections.graph import Graph
from tests.engine.rules.episodes import stepped, trajectory


@pytest.mark.paper("appendix, action recipes")
def test_a_recipe_ends_with_the_action_that_brought_the_achievement() -> None:
    steps = [stepped(1, "a"), stepped(2, "b"), stepped(3, "c"), stepped(4, "d", "won")]
    assert last_actions(steps) == [("won", ("b", "c", "d"))]


def test_an_early_achievement_has_a_short_recipe_and_two_at_once_have_the_same() -> None:
    assert last_actions([stepped(1, "a", "x", "y")]) == [("x", ("a",)), ("y", ("a",))]


def test_a_reply_without_an_action_is_no_part_of_a_recipe() -> None:
    steps = [stepped(1, "a"), stepped(2, ""), stepped(3, "b"), stepped(4, "c", "won")]
    assert last_actions(steps) == [("won", ("a", "b", "c"))]


def test_the_same_recipe_is_harvested_once_and_never_again_once_the_graph_has_it() -> None:
    won = trajectory(("a",), ("b", "won"))
    again = trajectory(("a",), ("b", "won"), question="q2")
    graph = Graph()
    found = harvest_recipes([won, again], graph, iteration=3, phase="explore")
    assert [(recipe.achievement, recipe.actions, recipe.origin.facts) for recipe in found] == [
        ("won", ("a", "b"), ("origin-q1",))
    ]
    for recipe in found:
        graph.apply(recipe)
    assert harvest_recipes([again], graph, iteration=4, phase="update") == []


def test_skill_achievement_and_actions_make_a_recipe_what_it_is() -> None:
    base = recipe_id(skill="s", achievement="a", actions=("x", "y"))
    assert base == recipe_id(skill="s", achievement="a", actions=["x", "y"])
    assert len({base, recipe_id(skill="t", achievement="a", actions=("x", "y"))}) == 2
    assert len({base, recipe_id(skill="s", achievement="a", actions=("y", "x"))}) == 2


def test_recipes_of_one_harvest_are_told_apart_by_their_ordinals() -> None:
    found = harvest_recipes([trajectory(("a", "x"), ("b", "y"))], Graph(), iteration=0, phase="explore")
    assert [recipe.ordinal for recipe in found] == [0, 1]
