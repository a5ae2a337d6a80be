"""What a step changed, from the visible state before and after it: as text for transcripts, and as relations for the
graph.

A step that changed nothing has no text. Food, drink and energy wear off by themselves, so their loss is left out.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mage_es.engine.bench.crafter.simulator import SimulatorState
from mage_es.engine.bench.crafter.wording import DEAD, NAMES, VITALS, Scene, faced_thing
from mage_es.engine.seams.environment import Relation

STATIONS = ("table", "furnace")
"""Things that must be nearby to make others."""


class Change(NamedTuple):
    """`action` is "" for a step that began asleep: the engine then ignores any action."""

    action: str
    faced: str
    near: tuple[str, ...]
    gained: Mapping[str, int]
    lost: Mapping[str, int]
    achieved: tuple[str, ...]
    is_dead: bool

    @property
    def text(self) -> str:
        """Describe the change, as in `facing tree, gives 1 wood`."""
        if not (self.gained or self.lost or self.achieved or self.is_dead):
            return ""
        how = [] if self.action else ["asleep"]
        how += [f"near {' and '.join(self.near)}"] if self.action.startswith("Make") else []
        how += [f"facing {self.faced}"] if self.action == "Do" or self.action.startswith("Place") else []
        took = [f"takes {amount} {name}" for name, amount in self.lost.items()]
        gave = [f"gives {amount} {name}" for name, amount in self.gained.items()]
        return ", ".join([*how, *took, *gave, *([DEAD] if self.is_dead else [])])

    @property
    def relations(self) -> tuple[Relation, ...]:
        """Return what the step revealed: what gives what, and what an achievement uses and needs nearby."""
        found = []
        if self.action == "Do":
            found += [Relation(self.faced, "gives", name) for name in self.gained if name != "health"]
        for name in self.achieved:
            found += [Relation(item, "is used for", name) for item in self.lost if item != "health"]
            found += [
                Relation(thing, "is wanted beside", name) for thing in self.near if self.action.startswith("Make")
            ]
            found += [Relation(self.faced, "is faced for", name)] if self.action == "Do" else []
        return tuple(found)


def change(action: str, before: SimulatorState, after: SimulatorState, achieved: Sequence[str]) -> Change:
    wearing_off = set(VITALS) - {"health"}
    amounts = {name: after.inventory[name] - before.inventory[name] for name in after.inventory}
    return Change(
        action="" if before.is_sleeping else action,
        faced=faced_thing(Scene(before.semantic, before.position, before.facing)),
        near=_near(before),
        gained={name: amount for name, amount in amounts.items() if amount > 0 and name != "health"},
        lost={name: -amount for name, amount in amounts.items() if amount < 0 and name not in wearing_off},
        achieved=tuple(achieved),
        is_dead=after.inventory["health"] <= 0,
    )


def _near(shown: SimulatorState) -> tuple[str, ...]:
    x, y = shown.position
    around = {NAMES[kind] for kind in np.unique(shown.semantic[max(0, x - 1) : x + 2, max(0, y - 1) : y + 2])}
    return tuple(name for name in STATIONS if name in around)
