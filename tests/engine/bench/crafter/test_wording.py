"""The two contexts of the text protocol, rule by rule, on maps made by hand."""

import numpy as np
import pytest
from numpy.typing import NDArray

from mage_es.engine.bench.crafter.wording import (
    NAMES,
    Scene,
    faced_thing,
    in_view,
    long_term,
    short_term,
)

SOUTH, EAST = (0, 1), (1, 0)
INVENTORY = {"health": 9, "food": 8, "drink": 7, "energy": 6, "sapling": 0, "wood": 0, "stone": 0, "wood_pickaxe": 0}


def scene(*things: tuple[str, int, int], at: tuple[int, int] = (32, 32), facing: tuple[int, int] = SOUTH) -> Scene:
    """Return a player on bare grass with things at offsets to the east and south."""
    world: NDArray[np.uint8] = np.full((64, 64), NAMES.index("grass"), dtype=np.uint8)
    world[at] = NAMES.index("player")
    for name, east, south in things:
        world[at[0] + east, at[1] + south] = NAMES.index(name)
    return Scene(world, at, facing)


@pytest.mark.paper("section 4, Crafter, the text")
def test_each_kind_is_told_once_at_its_nearest_in_the_order_of_first_appearance() -> None:
    told = long_term(scene(("tree", -4, -3), ("cow", 2, 0), ("tree", 0, -2)))
    assert told == (
        "You see:\n- tree 2 steps to your north\n- grass 1 step to your west\n- cow 2 steps to your east\n\n"
        "You face grass at your front."
    )


def test_among_equal_distances_the_first_from_west_to_east_then_north_to_south_is_told() -> None:
    first = in_view(scene(("tree", 2, -1), ("tree", 2, 1), ("tree", -1, 2), ("tree", -1, -2)))[0]
    assert (first.name, first.east, first.south) == ("grass", -1, 0)
    tree = next(
        thing for thing in in_view(scene(("tree", 2, -1), ("tree", -1, 2), ("tree", -1, -2))) if thing.name == "tree"
    )
    assert (tree.east, tree.south) == (-1, -2)


@pytest.mark.parametrize(
    ("east", "south", "where"),
    [
        (-4, -3, "7 steps to your north-west"),
        (4, 3, "7 steps to your south-east"),
        (0, -1, "1 step to your north"),
        (1, 0, "1 step to your east"),
        (3, -1, "4 steps to your north-east"),
    ],
)
def test_north_and_south_come_before_west_and_east(east: int, south: int, where: str) -> None:
    assert f"- coal {where}" in long_term(scene(("coal", east, south)))


def test_the_view_ends_four_columns_and_three_rows_away() -> None:
    assert "coal" not in long_term(scene(("coal", 5, 0), ("coal", 0, 4), ("coal", -5, 0), ("coal", 0, -4)))


@pytest.mark.paper("section 4, Crafter, the text")
@pytest.mark.parametrize("at", [(3, 32), (0, 32), (32, 2), (32, 0), (3, 2)])
def test_near_the_west_and_north_border_nothing_is_seen(at: tuple[int, int]) -> None:
    world = np.full((64, 64), NAMES.index("tree"), dtype=np.uint8)
    assert long_term(Scene(world, at, SOUTH)) == "You see nothing away from you.\n\nYou face nothing at your front."


@pytest.mark.parametrize("at", [(4, 3), (60, 60), (63, 32), (32, 63)])
def test_elsewhere_the_view_is_cut_at_most(at: tuple[int, int]) -> None:
    world = np.full((64, 64), NAMES.index("tree"), dtype=np.uint8)
    told = long_term(Scene(world, at, SOUTH))
    assert told.startswith("You see:\n- tree 1 step to your west")
    faced = "nothing" if at[1] == 63 else "tree"
    assert told.endswith(f"You face {faced} at your front.")
    assert faced_thing(Scene(world, at, EAST)) == ("nothing" if at[0] == 63 else "tree")


def test_creatures_hide_what_they_stand_on_and_are_faced() -> None:
    assert long_term(scene(("zombie", 1, 0), facing=EAST)).endswith("You face zombie at your front.")


def test_sleeping_comes_before_dead_and_both_before_the_rest() -> None:
    asleep = "You are sleeping, and will not be able take actions until energy is full.\n\n\n\nYou see:\n"
    assert long_term(scene()._replace(is_sleeping=True)).startswith(asleep)
    assert long_term(scene()._replace(is_sleeping=True, is_dead=True)).startswith(asleep)
    assert long_term(scene()._replace(is_dead=True)).startswith("You died.\n\n\n\nYou see:\n")


def test_what_cannot_be_described_is_out_of_the_map() -> None:
    broken = scene()
    broken.semantic[33, 33] = 99
    assert long_term(broken) == "Error, you are out of the map."


def test_the_short_term_context_has_the_status_and_what_one_carries() -> None:
    assert short_term(INVENTORY) == (
        "Your status:\n- health: 9/9\n- food: 8/9\n- drink: 7/9\n- energy: 6/9\n\nYou have nothing in your inventory."
    )
    told = short_term({**INVENTORY, "wood_pickaxe": 1, "sapling": 2})
    assert told.endswith("\n\nYour inventory:\n- sapling: 2\n- wood_pickaxe: 1")
