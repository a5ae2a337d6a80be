"""The long form of the crash tests: many histories, every mutant, and a real process killed again and again.

    python -m tests.events.explore --histories 40000 --processes 2

The seeds are the numbers from 0 on. A violation is printed with its seed, and the exit code is 1; so it is if a mutant
is not caught. A mutant is looked for in as many histories as `--mutant-histories` says, or until `--enough` have caught
it; one that is harmless alone, in a fifth of them.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.events.explorer import Explorer
from tests.events.kills import kill_again_and_again
from tests.events.mutants import HARMLESS, MUTANTS

_BLOCK = 50


class Violation(NamedTuple):
    """The seed of a history in which something did not hold, and what."""

    seed: int
    problem: str


def main() -> int:
    """Explore, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=40_000)
    parser.add_argument("--mutant-histories", type=int, default=10_000)
    parser.add_argument("--enough", type=int, default=20)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        sound = explore_all(pool, options.histories)
        caught = [is_caught(pool, name, options.mutant_histories, options.enough) for name in MUTANTS]
        for name in HARMLESS:
            is_caught(pool, name, options.mutant_histories // 5, options.enough)
    if options.kills:
        with tempfile.TemporaryDirectory() as folder:
            events = kill_again_and_again(Path(folder) / "log", options.kills, Random(7))
        print(f"{options.kills} kills of a real process: {events} events acknowledged, none lost")
    print(f"{sum(caught)} of {len(caught)} mutants caught")
    return 0 if sound and all(caught) else 1


def explore_all(pool: ProcessPoolExecutor, histories: int) -> bool:
    """Explore the log as it is; print and return whether nothing was violated."""
    began, violations = time.monotonic(), []
    for number, found in enumerate(pool.map(partial(explore, ""), blocks(histories)), 1):
        violations += found
        for violation in found:
            print(f"seed {violation.seed}: {violation.problem}", flush=True)
        if sys.stderr.isatty():
            print(f"\r{number * _BLOCK} histories", end="", file=sys.stderr)
    print(f"{histories} histories, {len(violations)} violations, {time.monotonic() - began:.0f} s", flush=True)
    return not violations


def is_caught(pool: ProcessPoolExecutor, name: str, histories: int, enough: int) -> bool:
    """Explore a mutant; print how often it was caught, and return whether it ever was."""
    found: list[Violation] = []
    tried, pending = 0, list(blocks(histories))
    while pending and len(found) < enough:
        now, pending = pending[: 2 * enough], pending[2 * enough :]
        tried += sum(map(len, now))
        found += [violation for some in pool.map(partial(explore, name), now) for violation in some]
    first = f"; first seed {found[0].seed}: {found[0].problem[:80]}" if found else ""
    print(f"{name}: caught in {len(found)} of {tried}{first}", flush=True)
    return bool(found)


def blocks(histories: int) -> Sequence[range]:
    """Return the seeds from 0 on in ranges, each the work of one process for a while."""
    return [range(start, min(start + _BLOCK, histories)) for start in range(0, histories, _BLOCK)]


def explore(mutant: str, seeds: Sequence[int]) -> list[Violation]:
    """Live through the histories of some seeds, with a mutant or (`""`) the log as it is; return the violations."""
    violations = []
    for seed in seeds:
        explorer = Explorer(seed)
        try:
            if mutant:
                with (MUTANTS | HARMLESS)[mutant](explorer.disk):
                    explorer.run()
            else:
                explorer.run()
        except Exception as error:
            violations.append(Violation(seed, f"{type(error).__name__}: {error}"))
    return violations


if __name__ == "__main__":
    sys.exit(main())
