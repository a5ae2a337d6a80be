"""What an episode of `crafter` costs without a model: the world, 500 steps with their texts, and what pictures would.

    python tests/bench/crafter_steps.py                 one core; CPU seconds (user and system)
    python tests/bench/crafter_steps.py --worlds 10

The limit for 500 steps with text observations is 8 s. `drawn` is the package's engine with both pictures of the text
protocol: what the adapter leaves out, and takes the random numbers of.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import crafter

from mage_es.engine.bench.crafter.game import CrafterGame
from mage_es.engine.bench.crafter.replies import ACTIONS

STEPS = 500
LIMIT_SECONDS = 8.0


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=3)
    worlds = range(900, 900 + parser.parse_args().worlds)
    rows = {
        "world generated (reset)": [spent(lambda seed=seed: CrafterGame(seed).reset()) for seed in worlds],
        "world kept (reset again)": [spent(lambda seed=seed: CrafterGame(seed).reset()) for seed in worlds],
        f"{STEPS} steps": [spent(lambda seed=seed: play(CrafterGame(seed))) for seed in worlds],
        f"{STEPS} steps, drawn, no text": [spent(lambda seed=seed: draw(seed)) for seed in worlds],
    }
    for name, seconds in rows.items():
        print(f"{name:32} {statistics.mean(seconds):6.2f} s  (most {max(seconds):.2f})")
    worst = max(rows[f"{STEPS} steps"])
    print(f"500 steps with text: {worst:.2f} s of {LIMIT_SECONDS} s allowed")


def spent(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a piece of work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def play(game: CrafterGame) -> None:
    """Play the same actions in any world; an episode that ends goes on all the same."""
    game.reset()
    for number in chosen():
        game.step(ACTIONS[number])


def draw(seed: int) -> None:
    """Play them with the package's own engine, which draws."""
    engine = crafter.Env(size=(256, 256), length=None, seed=seed)
    engine.reset()
    for number in chosen():
        engine.step(number)
        engine.render()


def chosen() -> list[int]:
    """Return the actions: mostly moves and `Do`."""
    dice, numbers = 1, []
    for _ in range(STEPS):
        dice = dice * 1103515245 % 2147483647
        numbers.append(1 + dice % 5 if dice % 7 else dice % len(ACTIONS))
    return numbers


if __name__ == "__main__":
    main()
