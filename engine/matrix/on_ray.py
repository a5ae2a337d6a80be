"""The cells of a matrix as tasks of a Ray cluster, their runs kept in one place that every machine reaches.

    <store>/cells/<cell>/...    the backup of a cell's logs, see `mage_es.engine.archive`
    <store>/leases/<cell>/...   who works on it, see `mage_es.engine.matrix.leases`
    <store>/done/<cell>         that it is done

Rules
    - A machine works in a folder of its own, which it begins by restoring what the store has of the cell, and stores
      what is new every `PUBLISH` seconds and at the end, whatever the end is: another machine goes on from there.
    - What is done is known from one object, so a finished cell costs one look.
    - In the end every finished cell is restored into the folder of runs here, for the report.

Ray is started with this machine's cluster, or joined, as its own variable RAY_ADDRESS says.
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

from mage_es.engine.archive import backup, open_objects, restore
from mage_es.engine.matrix.leases import Leases
from mage_es.engine.matrix.local import told
from mage_es.engine.matrix.working import POLL, Desk, Job, Outcome, work
from mage_es.engine.runs import Run
from mage_es.events.errors import PrerequisiteError
from mage_es.events.objects import create_once
from mage_es.events.reader import LogReader

PUBLISH = 60.0
"""Seconds after which a machine stores what is new of the cell that it works on."""


def run_on_ray(
    jobs: Sequence[Job],
    *,
    store: str,
    runs_dir: Path,
    program: tuple[str, ...],
    say: Callable[[str], None],
    asked: Callable[[], int],
) -> list[Outcome]:
    """Work on every cell on the cluster and return how each ended, in the order of the cells.

    `program` are the words after a machine's own Python that make it this command line.

    Raises:
        PrerequisiteError: Ray is not installed, or the store cannot be used.
        KeyboardInterrupt: A stop was asked for a second time; every task was stopped before.
    """
    ray = _ray()
    known = set(open_objects(f"{store}/done").names())
    todo = [job for job in jobs if job.name not in known]
    outcomes = _on_cluster(ray, todo, store, program, say, asked) if todo else {}
    outcomes |= {job.name: Outcome(job.name, "skipped") for job in jobs if job.name in known}
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
) -> dict[str, Outcome]:
    """Return the outcome of every job, by name, on the cluster that there is or on one of this machine."""
    is_own = not ray.is_initialized()
    if is_own:
        ray.init(log_to_driver=False, include_dashboard=False)
    try:
        # What failed is not tried again unasked: a failed cell is somebody's to look at.
        task = ray.remote(num_cpus=1, max_retries=0)(work_in_store)
        return _collected(ray, {task.remote(job, store, program): job for job in jobs}, say, asked)
    finally:
        if is_own:
            ray.shutdown()


def work_in_store(job: Job, store: str, program: tuple[str, ...]) -> Outcome:
    """Do a cell on this machine, in a folder of its own, from and into the store; the body of a task."""
    with tempfile.TemporaryDirectory(prefix="mage-es-cell-") as folder:
        copy = _Copy(Run(job.name, Path(folder) / job.name), store)
        leases = Leases(open_objects(f"{store}/leases"), f"task {os.getpid()} of {socket.gethostname()}")
        desk = Desk(
            Path(folder),
            (sys.executable, *program),
            leases,
            say=_unheard,
            asked=_never,
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
    """A cell's run on this machine, and in the store."""

    def __init__(self, run: Run, store: str) -> None:
        self._run, self._place = run, _place(store, run.id)
        self._published = time.monotonic()

    def fetch(self) -> None:
        """Bring what the store has of the cell."""
        if open_objects(self._place).names():
            restore(self._place, runs_dir=self._run.path.parent, name=self._run.id)

    def keep_up(self) -> None:
        """Store what is new, if it is time to."""
        if time.monotonic() - self._published > PUBLISH:
            self.publish()

    def publish(self) -> None:
        """Store what is new."""
        self._published = time.monotonic()
        if (self._run.log_path / "FORMAT").exists() and LogReader(self._run.log_path).head.seq:
            backup(self._run, self._place)


def _collected(
    ray: Any, refs: dict[Any, Job], say: Callable[[str], None], asked: Callable[[], int]
) -> dict[str, Outcome]:
    """Return the outcome of every task; a first Ctrl-C cancels them, which lets calls in flight end."""
    waiting, found, is_cancelled = list(refs), dict[str, Outcome](), False
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


def _outcome(ray: Any, ref: Any, job: Job) -> Outcome:
    """Return how a task ended; one whose machine was lost has failed, and its lease runs out by itself."""
    again = "the same `mage-es matrix` again"
    try:
        outcome: Outcome = ray.get(ref)
    except (ray.exceptions.TaskCancelledError, KeyboardInterrupt):
        return Outcome(job.name, "stopped", command=again)
    except ray.exceptions.RayError as error:
        return Outcome(job.name, "failed", problem=str(error).strip().splitlines()[-1], command=again)
    return outcome


def _place(store: str, cell: str) -> str:
    return f"{store}/cells/{cell}"


def _unheard(text: str) -> None:
    """What a task says stays on its machine."""


def _never() -> int:
    """A task is stopped by being cancelled."""
    return 0


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise PrerequisiteError("Ray is not installed: python -m pip install 'mage-es[ray]'") from error
    return ray
