"""Killing a process that records a run (`kill -9`) at moments told by what it has recorded, on any machine."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from mage_es.events.errors import MageError
from mage_es.events.log import LogReader


def kill_again_and_again(command: Sequence[str], log: Path, *, times: int, most: int, random: Random) -> int:
    """Start a process so many times and kill it each time; return how many of these kills it did not get ahead of.

    A life lasts until up to `most` events more are in the log, and up to a fifth of a second longer.
    """
    kills = 0
    for _ in range(times):
        enough, rest = recorded(log) + random.randrange(most), random.uniform(0, 0.2)
        with subprocess.Popen(command) as process:
            while process.poll() is None and recorded(log) < enough:
                time.sleep(0.02)
            time.sleep(rest)
            process.kill()
        assert process.returncode <= 0, "it failed by itself"
        kills += process.returncode < 0
    return kills


def recorded(log: Path) -> int:
    """Return how many events a log has, 0 where there is none yet."""
    try:
        return LogReader(log).head.seq
    except (MageError, OSError):
        return 0
