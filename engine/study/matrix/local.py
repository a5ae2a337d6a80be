"""Run the cells of a matrix on this machine, several at a time, each in its own process; a failure does not stop the
others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from mage_es.engine.study.matrix.working import NOTES, POLL, STOP_NOW, CellOutcome, Desk, Job, how_far, work

EVERY = 30.0
"""Seconds between two lines of progress."""


class Stops:
    """How often a stop was requested: `look` reports the first request, a raised Ctrl-C is the second."""

    def __init__(self, look: Callable[[], bool]) -> None:
        self._look, self._now = look, False

    def asked(self) -> int:
        """Return 0, 1 (finish the calls in flight) or 2 (stop now)."""
        return STOP_NOW if self._now else int(self._look())

    def now(self) -> None:
        self._now = True


def run_here(jobs: Sequence[Job], desk: Desk, *, at_once: int, stops: Stops) -> list[CellOutcome]:
    """Work on every cell and return the outcomes in the order of the cells.

    Raises:
        KeyboardInterrupt: A stop was requested twice; every step has been stopped.
    """
    cells = "1 cell" if len(jobs) == 1 else f"{len(jobs)} cells"
    desk.say(f"{cells}, {at_once} at a time; what they print goes to {desk.runs_dir / NOTES}/CELL.txt")
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(work, job, desk) for job in jobs]
        try:
            _watch(futures, jobs, desk)
        except KeyboardInterrupt:
            stops.now()
            raise
    return [future.result() for future in futures]


def _watch(futures: Sequence[Future[CellOutcome]], jobs: Sequence[Job], desk: Desk) -> None:
    """Report each cell that ends, and at intervals those at work; this thread stays free for signals."""
    waiting, spoken, ended = set(futures), time.monotonic(), list[CellOutcome]()
    while waiting:
        done, waiting = wait(waiting, timeout=POLL, return_when=FIRST_COMPLETED)
        for future in done:
            desk.say(f"[{len(ended) + 1}/{len(futures)}] {told(future.result(), ended)}")
            ended.append(future.result())
        if time.monotonic() - spoken > EVERY:
            spoken = time.monotonic()
            for job in (job for job, future in zip(jobs, futures, strict=True) if future.running()):
                desk.say(f"{job.name}: {how_far(job, desk) or 'at work'}")


def told(outcome: CellOutcome, earlier: Iterable[CellOutcome] = ()) -> str:
    """Return an outcome as a line; a problem already reported is not repeated."""
    after = f" after {outcome.seconds:.0f} s" if outcome.seconds else ""
    alike = (each.name for each in earlier if each.problem == outcome.problem != "")
    problem = next((f"as {name}" for name in alike), outcome.problem)
    words = {
        "done": f"done{after}",
        "skipped": "was done already",
        "failed": f"FAILED{after}: {problem}",
        "stopped": "stopped",
        "taken": f"left alone: {problem}",
    }
    return f"{outcome.name}: {words[outcome.end]}"
