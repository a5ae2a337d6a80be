"""A real process that appends to a log, killed (`kill -9`) at random moments; run as a module it is that process."""

import itertools
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from unittest.mock import patch

from mage_es.events.care import verify_log
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Draft, PhaseCompleted

ROOT = Path(__file__).resolve().parents[2]
_BATCH = 3
_ROLL = 50


def kill_again_and_again(path: Path, times: int, random: Random) -> int:
    """Let a process write the log at `path` and kill it, so many times; return how many events are there in the end.

    Raises `AssertionError` if anything acknowledged is lost, or anything else is there.
    """
    acknowledged = 0
    for _ in range(times):
        command = [sys.executable, "-m", "tests.events.kills", str(path), str(acknowledged)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
            assert child.stdout is not None
            for _ in range(random.randint(0, 60)):
                acknowledged = int(child.stdout.readline()) + 1
            time.sleep(random.random() / 100)
            child.send_signal(signal.SIGKILL)
            acknowledged += len(child.stdout.read().splitlines())
        acknowledged = _recovered(path, acknowledged)
    assert verify_log(path).findings == []
    return acknowledged * _BATCH


def _recovered(path: Path, acknowledged: int) -> int:
    """Recover the log; return how many commits it has: those that were acknowledged, and perhaps one more."""
    if not (path / "FORMAT").exists():
        assert not acknowledged, "a log that was written to is no longer one"
        return 0
    with Log.open(path, clock=_now):
        events = [event for _, event in LogReader(path).events({PhaseCompleted: ("iteration",)})]
    numbers = [event.iteration for event in events if isinstance(event, PhaseCompleted)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) in (_BATCH * acknowledged, _BATCH * (acknowledged + 1)), "acknowledged events are lost"
    return len(numbers) // _BATCH


def _write(path: Path, number: int) -> None:
    """Append for ever, and tell of every commit that is durable."""
    log = Log.open(path, clock=_now) if (path / "FORMAT").exists() else Log.create(path, run="r1", clock=_now)
    with patch("mage_es.events.wal.active.ROLL_EVENTS", _ROLL):
        for commit in itertools.count(number):
            log.append([_fact(_BATCH * commit + k) for k in range(_BATCH)])
            print(commit, flush=True)


def _fact(number: int) -> Draft:
    return Draft(event=PhaseCompleted(iteration=number, phase="evaluate"), iteration=number, phase="evaluate")


def _now() -> int:
    return time.time_ns() // 1000


if __name__ == "__main__":
    _write(Path(sys.argv[1]), int(sys.argv[2]))
