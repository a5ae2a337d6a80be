"""What `mage-es verify` says about a run, as a row of the page."""

import multiprocessing
import signal
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

import msgspec

from mage_es.engine.run.directory import Run
from mage_es.engine.seams.check import Check
from mage_es.engine.seams.plugins import verb
from mage_es.events.errors import MageError, PrerequisiteError


def beside(run: Run) -> Future[dict[str, Any]]:
    """Start verifying a run in a separate process, while the rest of it is read."""
    # Ctrl-C ends it silently, as it ends the process that started it.
    dying = (signal.SIGINT, signal.SIG_DFL)
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=signal.signal, initargs=dying)
    try:
        return pool.submit(verdict, run)
    finally:
        pool.shutdown(wait=False)


def verdict(run: Run) -> dict[str, Any]:
    """Return the row of `verify`."""
    try:
        checks: tuple[Check, ...] = verb("verify")(run).checks
    except (MageError, OSError) as error:
        is_damaged = not isinstance(error, PrerequisiteError)
        checks = (Check(name="log", ok=False, detail=str(error), damaged=is_damaged),)
    broken = [check for check in checks if not check.ok]
    return {
        "ok": not broken,
        "text": f"{len(checks) - len(broken)} of {len(checks)} checks passed",
        "findings": [f"{check.name}: {check.detail}" for check in broken],
        "leaks": next((0 if check.ok else None for check in checks if check.name == "leaks"), None),
        "checks": msgspec.to_builtins(checks),
    }
