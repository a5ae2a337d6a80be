"""Run the cells of a matrix as tasks of a Ray cluster, with their runs in a store that every machine reaches.

    <store>/cells/<cell>/...    the backup of a cell's logs, see `mage_es.engine.verbs.backup`
    <store>/leases/<cell>/...   its leases, see `mage_es.engine.matrix.leases`
    <store>/done/<cell>         exists once it is done

Rules
    - A machine works in a folder of its own. It first restores the cell from the store, then stores what is new every
      `PUBLISH` seconds and at the end, also after a failure, so that another machine can continue.
    - One object marks a cell as done, so a finished cell costs one look-up.
    - In the end every finished cell is restored into the folder of runs here, for the report.

Ray starts a cluster on this machine, or joins the one of its variable RAY_ADDRESS.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mage_es.engine.matrix.leases import Leases
from mage_es.engine.matrix.local import told
from mage_es.engine.matrix.working import POLL, CellOutcome, Desk, Job, work
from mage_es.engine.run.directory import Run
from mage_es.engine.verbs.backup import backup, open_objects, restore
from mage_es.events.disk import create_once
from mage_es.events.errors import PrerequisiteError
from mage_es.events.log import LogReader

PUBLISH = 60.0
"""Seconds between two backups of a cell at work."""


def run_on_ray(
    jobs: Sequence[Job],
    *,
    store: str,
    runs_dir: Path,
    program: tuple[str, ...],
    say: Callable[[str], None],
    asked: Callable[[], int],
) -> list[CellOutcome]:
    """Work on every cell on the cluster and return the outcomes in the order of the cells. [section 4.1, matrix]

    `program` are the arguments to Python that start this command line.

    Raises:
        PrerequisiteError: Ray is not installed, or the store cannot be used.
        KeyboardInterrupt: A stop was requested twice; every task has been stopped.
    """
    ray = _ray()
    known = set(open_objects(f"{store}/done").names())
    todo = [job for job in jobs if job.name not in known]
    outcomes = _on_cluster(ray, todo, store, program, say, asked) if todo else {}
    outcomes |= {job.name: CellOutcome(job.name, "skipped") for job in jobs if job.name in known}
    for job in jobs:
        if outcomes[job.name].end in ("done", "skipped") and not (runs_dir / job.name).exists():
            restore(_place(store, job.name), runs_dir=runs_dir, name=job.name)
            say(f"{job.name}: restored into {runs_dir}")
    return [outcomes[job.name] for job in jobs]


def _on_cluster(
    ray: Any,
    jobs: Sequence[Job],
    store: str,
    program: tuple[str, ...],
    say: Callable[[str], None],
    asked: Callable[[], int],
) -> dict[str, CellOutcome]:
    """Return the outcome of every job by name, on the existing cluster or on one of this machine."""
    is_own = not ray.is_initialized()
    if is_own:
        ray.init(log_to_driver=False, include_dashboard=False)
    try:
        # No automatic retry: a failed cell needs a look first.
        task = ray.remote(num_cpus=1, max_retries=0)(work_in_store)
        return _collected(ray, {task.remote(job, store, program): job for job in jobs}, say, asked)
    finally:
        if is_own:
            ray.shutdown()


def work_in_store(job: Job, store: str, program: tuple[str, ...]) -> CellOutcome:
    """Work on a cell on this machine, from and into the store; the body of a task."""
    with tempfile.TemporaryDirectory(prefix="mage-es-cell-") as folder:
        copy = _Copy(Run(job.name, Path(folder) / job.name), store)
        leases = Leases(open_objects(f"{store}/leases"), f"task {os.getpid()} of {socket.gethostname()}")
        desk = Desk(
            Path(folder),
            (sys.executable, *program),
            leases,
            say=lambda text: None,  # messages stay on the machine of the task
            asked=lambda: 0,  # a task is stopped by cancelling it
            fetch=copy.fetch,
            beside=copy.keep_up,
            publish=copy.publish,
        )
        outcome = work(job, desk)
        if outcome.end == "done":
            create_once(open_objects(f"{store}/done"), job.name, b"done\n")
    command = outcome.command and f"the same `mage-es matrix` again; its runs are in {store}"
    return outcome._replace(command=command)


class _Copy:
    def __init__(self, run: Run, store: str) -> None:
        self._run, self._place = run, _place(store, run.id)
        self._published = time.monotonic()

    def fetch(self) -> None:
        if open_objects(self._place).names():
            restore(self._place, runs_dir=self._run.path.parent, name=self._run.id)

    def keep_up(self) -> None:
        if time.monotonic() - self._published > PUBLISH:
            self.publish()

    def publish(self) -> None:
        self._published = time.monotonic()
        if (self._run.log_path / "FORMAT").exists() and LogReader(self._run.log_path).head.seq:
            backup(self._run, self._place)


def _collected(
    ray: Any, refs: dict[Any, Job], say: Callable[[str], None], asked: Callable[[], int]
) -> dict[str, CellOutcome]:
    """Return the outcome of every task; the first Ctrl-C cancels them, which lets calls in flight finish."""
    waiting, found, is_cancelled = list(refs), dict[str, CellOutcome](), False
    try:
        while waiting:
            ended, waiting = ray.wait(waiting, timeout=POLL)
            for ref in ended:
                outcome = _outcome(ray, ref, refs[ref])
                say(f"[{len(found) + 1}/{len(refs)}] {told(outcome, found.values())}")
                found[outcome.name] = outcome
            if asked() and not is_cancelled:
                is_cancelled = True
                for ref in waiting:
                    ray.cancel(ref)
    except KeyboardInterrupt:
        for ref in waiting:
            ray.cancel(ref, force=True)
        raise
    return found


def _outcome(ray: Any, ref: Any, job: Job) -> CellOutcome:
    """Return how a task ended; one whose machine was lost has failed, and its lease runs out by itself."""
    again = "the same `mage-es matrix` again"
    try:
        outcome: CellOutcome = ray.get(ref)
    except (ray.exceptions.TaskCancelledError, KeyboardInterrupt):
        return CellOutcome(job.name, "stopped", command=again)
    except ray.exceptions.RayError as error:
        return CellOutcome(job.name, "failed", problem=str(error).strip().splitlines()[-1], command=again)
    return outcome


def _place(store: str, cell: str) -> str:
    return f"{store}/cells/{cell}"


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise PrerequisiteError("Ray is not installed: python -m pip install 'mage-es[ray]'") from error
    return ray
