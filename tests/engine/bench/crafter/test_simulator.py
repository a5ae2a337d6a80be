"""The simulator: the reference rollouts, and the same traces wherever and however they are played."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import crafter
import numpy as np
import pytest

from mage_es.engine.bench.crafter.simulator import Simulator
from mage_es.engine.bench.crafter.wording import NAMES

pytestmark = pytest.mark.slow

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[5] / "shared" / "data"))
ROLLOUTS = DATA / "crafter" / "reference_rollouts.jsonl.gz"
PLAY = """
import hashlib, sys
from mage_es.engine.bench.crafter.game import ACTIONS, CrafterGame
game = CrafterGame(int(sys.argv[1]))
digest = hashlib.sha256(game.reset().text.encode())
dice = 1
for step in range(500):
    dice = dice * 1103515245 % 2147483647
    outcome = game.step(ACTIONS[1:6][dice % 5])
    digest.update(f"{outcome.observation.text}{outcome.reward}{outcome.achievements}{outcome.done}".encode())
print(digest.hexdigest(), step)
"""


@pytest.mark.paper("section 4, Crafter, the game")
@pytest.mark.skipif(not ROLLOUTS.is_file(), reason=f"no reference rollouts in {DATA}; set MAGE_ES_DATA")
def test_the_reference_rollouts_are_reproduced() -> None:
    rollouts = [json.loads(line) for line in gzip.decompress(ROLLOUTS.read_bytes()).splitlines()]
    assert len(rollouts) == 10
    for told in rollouts[::2]:  # each of another world
        simulator = Simulator(told["seed"], size=64)
        simulator.reset()
        shown = [simulator.step(action, renders=1) for action in told["actions"]]
        assert [moment.reward for moment in shown] == pytest.approx(told["rewards"])
        assert [list(moment.position) for moment in shown] == told["player_pos_per_step"]
        hashes = [hashlib.sha256(moment.semantic.astype(np.uint8).tobytes()).hexdigest() for moment in shown]
        assert hashes == told["semantic_sha256_per_step"]
        assert shown[-1].inventory == told["inventory_last"]


@pytest.mark.paper("section 4, Crafter, the game")
def test_five_hundred_steps_are_the_same_in_processes_with_other_hash_seeds() -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PLAY, "7"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    ]
    said = {process.communicate()[0] for process in processes}
    assert len(said) == 1 and said.pop().endswith(" 499\n")


def test_the_ids_of_the_map_have_the_names_of_the_engine() -> None:
    simulator = Simulator(3)
    simulator.reset()
    ids = simulator._engine._sem_view
    named = {number: name for name, number in ids._mat_ids.items()}
    named |= {number: kind.__name__.lower() for kind, number in ids._obj_ids.items()}
    assert [named[number] for number in range(len(NAMES))] == list(NAMES) and len(named) == len(NAMES)


class Drawn(crafter.Env):  # type: ignore[misc]  # the package has no types
    """The package's engine as it is, pictures and all, but for the order of creatures."""

    def _balance_chunk(self, chunk: object, objs: list[object]) -> None:
        table = self._world._objects
        super()._balance_chunk(chunk, sorted(objs, key=table.index))


@pytest.mark.paper("section 4, Crafter, the game")
def test_without_pictures_a_night_goes_as_with_two_pictures_for_each_step() -> None:
    drawn = Drawn(size=(256, 256), length=None, seed=3)
    drawn.reset()
    simulator = Simulator(3)
    simulator.reset()
    drawn._step = simulator._engine._step = 160  # into the dusk
    for step in range(60):
        shown = simulator.step(step % 5)
        _, reward, _, info = drawn.step(step % 5)
        drawn.render()
        assert np.array_equal(shown.semantic, info["semantic"]) and shown.reward == reward
    assert drawn._world.daylight < 0.5


def test_a_world_that_is_kept_is_not_touched_by_playing_in_it() -> None:
    def first(actions: list[int]) -> list[bytes]:
        simulator = Simulator(5)
        simulator.reset()
        return [simulator.step(action).semantic.tobytes() for action in actions]

    before = first([1, 5, 2, 5, 3])
    first([5] * 30)
    assert first([1, 5, 2, 5, 3]) == before
