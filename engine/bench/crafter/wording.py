"""A moment of `crafter` in words: the long-term and the short-term context of the text protocol, to the letter.

Rules
    - The view is nine columns by seven rows around the player, cut as a slice of the map: near the east and south
      borders it is smaller, and within four tiles of the west border or three of the north one the slice begins below
      zero and is empty. Upstream shows nothing there, and neither does this.
    - Things are listed in view order: columns from west to east, each from north to south. The player's own cell is
      left out.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NAMES = (
    *(None, "water", "grass", "stone", "path", "sand", "tree", "lava", "coal", "iron", "diamond", "table", "furnace"),
    *("player", "cow", "zombie", "skeleton", "arrow", "plant"),
)
"""The names of the semantic map's ids; creatures and plants hide the ground below them."""
VITALS = ("health", "food", "drink", "energy")
SLEEPING = "You are sleeping, and will not be able take actions until energy is full."  # sic, as upstream has it
DEAD = "You died."
NOTHING_SEEN = "You see nothing away from you."
NO_INVENTORY = "You have nothing in your inventory."
OUT_OF_MAP = "Error, you are out of the map."
NOT_VALID = "\n\nYour previous output did not contain a valid action. Defaulted to action: Noop\n\nObservation:\n"
"""The text before the long-term context after a reply that named no action."""
_ACROSS, _DOWN = 4, 3
"""How many tiles the view reaches to either side."""


class Thing(NamedTuple):
    """In tiles east and south of the player."""

    name: str
    east: int
    south: int

    @property
    def distance(self) -> int:
        return abs(self.east) + abs(self.south)


class Scene(NamedTuple):
    """What is described: the semantic map, shape [64, 64] (x, y), and the player."""

    semantic: NDArray[np.uint8]
    position: tuple[int, int]
    facing: tuple[int, int]
    is_sleeping: bool = False
    is_dead: bool = False


def long_term(scene: Scene) -> str:
    """Return the long-term context: "out of the map" if anything in view has no name."""
    status = SLEEPING if scene.is_sleeping else DEAD if scene.is_dead else ""
    try:
        seen, faced = in_view(scene), faced_thing(scene)
    except LookupError:
        return OUT_OF_MAP
    lines = [f"- {thing.name} {_where(thing)}" for thing in seen]
    listed = "\n".join(["You see:", *lines]) if lines else NOTHING_SEEN
    # Upstream ends the status with a blank line, and adds one.
    return f"{status}\n\n\n\n{listed}\n\nYou face {faced} at your front.".strip()


def short_term(inventory: Mapping[str, int]) -> str:
    """Return the short-term context. [section 4, Crafter, the text]"""
    status = "\n".join(["Your status:", *(f"- {name}: {inventory[name]}/9" for name in VITALS)])
    items = [f"- {name}: {amount}" for name, amount in inventory.items() if name not in VITALS and amount]
    return f"{status}\n\n" + ("\n".join(["Your inventory:", *items]) if items else NO_INVENTORY)


def in_view(scene: Scene) -> list[Thing]:
    """Return the nearest thing of each kind. Raises `LookupError` for an id without a name."""
    nearest: dict[str, Thing] = {}
    for thing in _things(_view(scene)):
        if thing.name not in nearest or thing.distance < nearest[thing.name].distance:
            nearest[thing.name] = thing  # a dict keeps the place of the first one
    return list(nearest.values())


def faced_thing(scene: Scene) -> str:
    """Return what is in the cell in front; `nothing` outside the view."""
    return _named(_view(scene), _ACROSS + scene.facing[0], _DOWN + scene.facing[1]) or "nothing"


def _view(scene: Scene) -> NDArray[np.uint8]:
    x, y = scene.position
    return scene.semantic[x - _ACROSS : x + _ACROSS + 1, y - _DOWN : y + _DOWN + 1]


def _things(view: NDArray[np.uint8]) -> Iterator[Thing]:
    for column, row in np.ndindex(view.shape):
        name = _named(view, column, row)
        if name is not None and (column, row) != (_ACROSS, _DOWN):
            yield Thing(name, column - _ACROSS, row - _DOWN)


def _named(view: NDArray[np.uint8], column: int, row: int) -> str | None:
    is_inside = 0 <= column < view.shape[0] and 0 <= row < view.shape[1]
    return NAMES[view[column, row]] if is_inside else None


def _where(thing: Thing) -> str:
    vertical = "north" if thing.south < 0 else "south" if thing.south > 0 else ""
    horizontal = "west" if thing.east < 0 else "east" if thing.east > 0 else ""
    steps = f"{thing.distance} step{'' if thing.distance == 1 else 's'}"
    return f"{steps} to your {'-'.join(filter(None, (vertical, horizontal)))}"
