"""The cells of a matrix on this machine: so many at a time, each a process; a failed one does not stop the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from mage_es.engine.matrix.working import POLL, STOP_NOW, Desk, Job, Outcome, work

EVERY = 30.0
"""Seconds between two lines that say what is being worked on."""


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
    waiting, spoken = set(futures), time.monotonic()
    while waiting:
        ended, waiting = wait(waiting, timeout=POLL, return_when=FIRST_COMPLETED)
        for future in ended:
            desk.say(f"[{len(futures) - len(waiting)}/{len(futures)}] {told(future.result())}")
        if time.monotonic() - spoken > EVERY:
            spoken = time.monotonic()
            running = [job.name for job, future in zip(jobs, futures, strict=True) if future.running()]
            desk.say(f"Still at work: {', '.join(running)}.")


def told(outcome: Outcome) -> str:
    """Return an outcome as a line."""
    after = f" in {outcome.seconds:.0f} s" if outcome.seconds else ""
    words = {
        "done": f"done{after}",
        "skipped": "was done already",
        "failed": f"FAILED{after}: {outcome.problem}",
        "stopped": "stopped",
        "leased": f"left alone: {outcome.problem}",
    }
    return f"{outcome.name}: {words[outcome.end]}"
