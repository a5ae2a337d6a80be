"""The simulator of `crafter`, made deterministic and quick: the package's engine without its pictures.

Rules
    - The same seed and actions give the same world in any process. The package itself does not: where a chunk has too
      many creatures it picks one from a Python set, whose order follows memory addresses. Here they come in the order
      of their creation.
    - Nothing is drawn, but at night drawing takes random numbers from the world's stream (noise, one for each pixel of
      the map). They are taken all the same, so episodes are those of the text protocol to the bit: canvas 256 x 256,
      drawn by the engine and once more by the wrapper. `fast` leaves them out: other nights, the same distribution.
    - Generating a world takes a second, so the last ones are kept as bytes; an episode begins with a copy of its own.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import crafter
import numpy as np
from numpy.typing import NDArray

CANVAS = 256
"""Pixels of a side, as the text protocol draws."""
_VIEW = (9, 9)
_MAP = (9, 7)
"""Columns and rows of the view that show the map; the two rows below show the inventory."""
_DAYLIGHT = 0.5
"""Below this daylight the picture is noisy."""
_WORLDS = 64
"""Generated worlds that are kept, about 35 kB each."""


class Shown(NamedTuple):
    """What a step shows: the map by kinds of things (ids of `wording.NAMES`), and the player on it."""

    semantic: NDArray[np.uint8]
    position: tuple[int, int]
    facing: tuple[int, int]
    is_sleeping: bool
    inventory: dict[str, int]
    """Health first; amounts in the engine's order."""
    counts: dict[str, int]
    """How often each achievement was reached."""
    reward: float


class _Engine(crafter.Env):  # type: ignore[misc]  # the package has no types
    """The package's engine with creatures in the order of their creation, and its random numbers without pictures."""

    def __init__(self, seed: int) -> None:
        super().__init__(area=(64, 64), view=_VIEW, reward=True, length=None, seed=seed)
        self.noise = (0, 0)
        self._textures = self._local_view = self._item_view = None  # nothing is drawn

    def render(self, size: Any = None) -> None:
        """Take the random numbers of a picture. Overrides the package's method, which returns the picture."""
        if self._world.daylight < _DAYLIGHT:
            self._world.random.uniform(32, 127, self.noise)

    def _balance_chunk(self, chunk: Any, objs: Iterable[Any]) -> None:
        """Balance a chunk with its creatures in order. Overrides the package's method, which is given a set."""
        places = self._world._obj_map
        super()._balance_chunk(chunk, sorted(objs, key=lambda creature: int(places[tuple(creature.pos)])))


class Simulator:
    """One episode in one world."""

    def __init__(self, seed: int, *, fast: bool = False, size: int = CANVAS) -> None:
        """Open a world.

        Args:
            seed: Seed of the world; the same on every machine.
            fast: Take no random numbers for pictures.
            size: Pixels of a side; the text protocol's nights need the default.
        """
        self._seed = seed
        self._noise = (0, 0) if fast else tuple(size // _VIEW[axis] * _MAP[axis] for axis in (0, 1))

    def reset(self) -> None:
        """Begin the first episode of the seed, at step 0."""
        self._engine: _Engine = pickle.loads(_generated(self._seed))
        self._engine.noise = self._noise

    def step(self, action: int, *, renders: int = 2) -> Shown:
        """Do an action by its number. `renders` counts the pictures after it, the engine's own included."""
        _, reward, _, info = self._engine.step(action)
        for _ in range(renders - 1):
            self._engine.render()
        player = self._engine._player
        x, y = (int(place) for place in info["player_pos"])
        dx, dy = (int(part) for part in player.facing)
        return Shown(
            semantic=info["semantic"],
            position=(x, y),
            facing=(dx, dy),
            is_sleeping=bool(player.sleeping),
            inventory={name: int(amount) for name, amount in info["inventory"].items()},
            counts={name: int(count) for name, count in info["achievements"].items()},
            reward=float(reward),
        )


@lru_cache(maxsize=_WORLDS)
def _generated(seed: int) -> bytes:
    """Return a world at step 0, which is in daylight, as bytes that this very process made."""
    engine = _Engine(seed)
    engine.reset()
    return pickle.dumps(engine)
