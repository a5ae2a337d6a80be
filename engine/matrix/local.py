"""The cells of a matrix on this machine: so many at a time, each a process; a failed one does not stop the others."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from mage_es.engine.matrix.working import NOTES, POLL, STOP_NOW, Desk, Job, Outcome, how_far, work
from mage_es.events.lock import is_running

EVERY = 30.0
"""Seconds between two lines that say what is being worked on."""


_HOLDER = re.compile(r"process (\d{1,10}) of (.*)")


def holder() -> str:
    """Return what this process is called in a lease."""
    return f"process {os.getpid()} of {socket.gethostname()}"


def is_gone(name: str) -> bool:
    """Return whether a holder was a process of this machine that runs no more; of another machine nobody can tell."""
    found = _HOLDER.fullmatch(name)
    if found is None or found[2] != socket.gethostname():
        return False
    return not is_running(int(found[1]))


class Stops:
    """How often a stop was asked for: `look` tells of a first time, and a Ctrl-C that raises is the second."""

    def __init__(self, look: Callable[[], bool]) -> None:
        self._look, self._now = look, False

    def asked(self) -> int:
        """Return 0, 1 (finish the calls in flight) or 2 (stop now)."""
        return STOP_NOW if self._now else int(self._look())

    def now(self) -> None:
        """Note that nothing is to be waited for."""
        self._now = True


def run_here(jobs: Sequence[Job], desk: Desk, *, at_once: int, stops: Stops) -> list[Outcome]:
    """Work on every cell and return how each ended, in the order of the cells.

    Raises:
        KeyboardInterrupt: A stop was asked for a second time; every step was stopped before.
    """
    desk.say(f"{_cells(len(jobs))}, {at_once} at a time; what they print goes to {desk.runs_dir / NOTES}/CELL.txt")
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(work, job, desk) for job in jobs]
        try:
            _watch(futures, jobs, desk)
        except KeyboardInterrupt:
            stops.now()
            raise
    return [future.result() for future in futures]


def _watch(futures: Sequence[Future[Outcome]], jobs: Sequence[Job], desk: Desk) -> None:
    """Tell of each cell that ends, and now and then of those that go on; this thread is free for signals."""
    waiting, spoken, ended = set(futures), time.monotonic(), list[Outcome]()
    while waiting:
        done, waiting = wait(waiting, timeout=POLL, return_when=FIRST_COMPLETED)
        for future in done:
            desk.say(f"[{len(ended) + 1}/{len(futures)}] {told(future.result(), ended)}")
            ended.append(future.result())
        if time.monotonic() - spoken > EVERY:
            spoken = time.monotonic()
            for job in (job for job, future in zip(jobs, futures, strict=True) if future.running()):
                desk.say(f"{job.name}: {how_far(job, desk) or 'at work'}")


def told(outcome: Outcome, earlier: Iterable[Outcome] = ()) -> str:
    """Return an outcome as a line; what an earlier one failed of, too, is not said again."""
    after = f" after {outcome.seconds:.0f} s" if outcome.seconds else ""
    alike = (each.name for each in earlier if each.problem == outcome.problem != "")
    problem = next((f"as {name}" for name in alike), outcome.problem)
    words = {
        "done": f"done{after}",
        "skipped": "was done already",
        "failed": f"FAILED{after}: {problem}",
        "stopped": "stopped",
        "leased": f"left alone: {problem}",
    }
    return f"{outcome.name}: {words[outcome.end]}"


def _cells(number: int) -> str:
    return "1 cell" if number == 1 else f"{number} cells"
