"""The simulator of `crafter`, made deterministic and quick: the package's engine without its pictures.

Rules
    - The same seed and actions give the same world in any process. The package itself does not guarantee this: if a
      chunk has too many creatures it picks one from a Python set, whose order depends on memory addresses.
    - At night, drawing the picture takes random numbers from the world's stream (noise, one for each pixel of the map).
      They are taken here too, so that episodes equal those of the text protocol bit for bit: the canvas is 256 x 256,
      drawn by the engine and once more by the wrapper. `fast` skips them: nights then differ, but have the same
      distribution.
    - Generating a world takes a third of a second, so the most recent ones are kept as bytes; each episode begins with
      its own copy.
"""

import pickle
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import crafter
import numpy as np
from numpy.typing import NDArray
from opensimplex import internals

# Most of the time of generating a world went into reading this table: numpy's numbers take four times as long as
# Python's, and give the same sums. Numba, if it is installed, compiles the reading, and needs the array.
if internals.prange is range:
    internals.GRADIENTS3 = tuple(internals.GRADIENTS3.tolist())

CANVAS = 256
"""Pixels per side of the picture that the text protocol draws."""
_VIEW = (9, 9)
_MAP = (9, 7)
"""Columns and rows of the view that show the map; the two rows below show the inventory."""
_DAYLIGHT = 0.5
"""Below this daylight the picture is noisy."""
_WORLDS = 64
"""How many generated worlds to keep, about 35 kB each."""


class SimulatorState(NamedTuple):
    """The state after a step; the map has ids of `wording.NAMES`."""

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
    def __init__(self, seed: int) -> None:
        super().__init__(area=(64, 64), view=_VIEW, reward=True, length=None, seed=seed)
        self.noise = (0, 0)
        self._textures = self._local_view = self._item_view = None  # nothing is drawn

    def render(self, size: Any = None) -> None:
        """Take the random numbers of a picture instead of drawing it."""
        if self._world.daylight < _DAYLIGHT:
            self._world.random.uniform(32, 127, self.noise)

    def _balance_chunk(self, chunk: Any, objs: Iterable[Any]) -> None:
        """Sort the creatures: the package passes a set."""
        places = self._world._obj_map
        super()._balance_chunk(chunk, sorted(objs, key=lambda creature: int(places[tuple(creature.pos)])))


class Simulator:
    """One episode in one world.

    [section 4, Crafter, the game] The package crafter 1.8.3 with an explicit seed and an engine for each episode.
    Creatures of a chunk act in the order of their creation: the package picks them from a set, so its episodes differ
    between processes after some 10 steps. No picture is drawn, but its random numbers are taken.
    """

    def __init__(self, seed: int, *, size: int = CANVAS) -> None:
        """`size`: pixels per side; the text protocol's nights need the default."""
        self._seed = seed
        self._noise = tuple(size // _VIEW[axis] * _MAP[axis] for axis in (0, 1))

    def reset(self) -> None:
        self._engine: _Engine = pickle.loads(_generated(self._seed))
        self._engine.noise = self._noise

    def step(self, action: int, *, renders: int = 2) -> SimulatorState:
        """Do an action by its number. `renders` counts the pictures drawn after it, including the engine's own."""
        _, reward, _, info = self._engine.step(action)
        for _ in range(renders - 1):
            self._engine.render()
        player = self._engine._player
        x, y = (int(place) for place in info["player_pos"])
        dx, dy = (int(part) for part in player.facing)
        return SimulatorState(
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
    """Return a world at step 0, which is in daylight, as bytes that only this process may load."""
    engine = _Engine(seed)
    engine.reset()
    return pickle.dumps(engine)
