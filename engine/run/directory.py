"""Run directories: one run, one folder, that can be copied, zipped and read without this program.

<runs-dir>/<run>/log/          the event log: everything else follows from it
<runs-dir>/<run>/snapshots/    folds kept to start faster; may be deleted
<runs-dir>/<run>/replays/      what `replay` rebuilt; may be deleted
<runs-dir>/<run>/exams/<n>/    one log for each exam
<runs-dir>/<run>/in-flight     how many calls are under way; may be deleted
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import NamedTuple

from mage_es.events.errors import PrerequisiteError, UsageError, nearest

NAME_OF_ORDINAL = "{benchmark}-s{seed}-{ordinal:03d}"
FLOOR_MIB = 256
"""Free space below which no iteration starts; a long iteration writes a few MiB, its snapshot as much again."""


class Run(NamedTuple):
    """A run directory. `id` is its folder's name and the run's name in every record."""

    id: str
    path: Path

    @property
    def log_path(self) -> Path:
        return self.path / "log"

    @property
    def snapshots_path(self) -> Path:
        return self.path / "snapshots"

    @property
    def in_flight_path(self) -> Path:
        return self.path / "in-flight"

    @property
    def exams_path(self) -> Path:
        return self.path / "exams"

    def exams(self) -> list[Run]:
        """Return the exams in the order in which they were set, each as a run whose log is the exam's.

        The folder of one that was killed before it had a log is passed over.
        """
        logs = sorted(self.exams_path.glob("*/log/FORMAT"))
        return [self.exam(path.parents[1].name) for path in logs]

    def exam(self, name: str) -> Run:
        return Run(f"{self.id}/{name}", self.exams_path / name)

    def replay_path(self, marker: str) -> Path:
        """Return where a replay to a marker is rebuilt by default."""
        return self.path / "replays" / marker.replace("/", "-").replace(":", "-")


def create_run(runs_dir: Path | str, *, benchmark: str, seed: int, run_id: str | None = None) -> Run:
    """Return a new, empty run directory. Raises `UsageError` where that name is taken or cannot be a name."""
    if run_id is not None:
        require_name(run_id)
    runs_dir = Path(runs_dir)
    runs_dir.mkdir(parents=True, exist_ok=True)
    ordinal = 1
    while True:
        name = run_id or NAME_OF_ORDINAL.format(benchmark=benchmark, seed=seed, ordinal=ordinal)
        try:
            (runs_dir / name).mkdir()
        except FileExistsError:
            if run_id:
                raise UsageError(_taken(runs_dir / name)) from None
            ordinal += 1
        else:
            return Run(name, runs_dir / name)


def _taken(path: Path) -> str:
    if (path / "log" / "FORMAT").exists():
        way = f"or continue it with `mage-es resume {path.name}`."
        return f"There is a run {path.name!r} already in {path.parent}: choose another name, {way}"
    what = "holds no run (one that could not begin leaves that)"
    return f"{path} is there already, but {what}: delete it, or choose another name."


def require_name(name: str) -> None:
    """Raise `UsageError` for what cannot be a run's name: it is a folder's."""
    if name in ("", ".", "..") or "/" in name or "\\" in name:
        raise UsageError(f"{name!r} cannot be a run's name: give a plain folder name, such as gsm8k-s42-001.")


def list_runs(runs_dir: Path | str) -> list[Run]:
    """Return the runs in a folder, oldest first."""
    runs_dir = Path(runs_dir)
    if not runs_dir.is_dir():
        return []
    found = [Run(path.name, path) for path in runs_dir.iterdir() if (path / "log" / "FORMAT").exists()]
    return sorted(found, key=lambda run: ((run.log_path / "FORMAT").stat().st_mtime_ns, run.id))


def find_run(runs_dir: Path | str, name: str | None = None) -> Run:
    """Return a run by its name or path, or the newest one where no name is given.

    Raises:
        UsageError: There is no such run, or the folder is not a run; the near matches are listed.
    """
    runs = list_runs(runs_dir)
    if name is None:
        if not runs:
            raise UsageError(f"There is no run in {runs_dir}: start one with `mage-es evolve wordmath`.")
        return runs[-1]
    for run in runs:
        if run.id == name:
            return run
    path = Path(name)
    for candidate in (path, Path(runs_dir) / name):
        if candidate.is_dir():
            if (candidate / "log" / "FORMAT").exists():
                return Run(candidate.resolve().name, candidate)
            raise UsageError(f"{candidate} is not a run: it has no log/FORMAT. Give a folder that `evolve` made.")
    raise UsageError(f"There is no run {name!r} in {runs_dir}.{nearest(name, [run.id for run in runs])}")


def require_free_space(path: Path, *, floor_mib: int = FLOOR_MIB) -> None:
    """Raise `PrerequisiteError` where fewer than `floor_mib` MiB are free on the disk that holds `path`."""
    free = shutil.disk_usage(path).free // 2**20
    if free < floor_mib:
        raise PrerequisiteError(
            f"Only {free} MiB are free where {path} lies, and an iteration is not begun below {floor_mib} MiB. "
            "Nothing is lost: free some space and resume."
        )


def clock() -> int:
    """Return the wall clock in microseconds since 1970 (UTC); the shell's only clock for records."""
    return time.time_ns() // 1000
