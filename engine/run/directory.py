"""Run directories: each run is one folder, which can be copied, zipped and read without this program.

<runs-dir>/<run>/log/              the event log, with the questions: everything else follows from it
<runs-dir>/<run>/snapshots/        folds kept to start faster; may be deleted
<runs-dir>/<run>/replays/          what `replay` rebuilt; may be deleted
<runs-dir>/<run>/keys              the keys of encrypted subjects, readable by the owner alone; never in a backup
<runs-dir>/<run>/erasures/         a receipt for each subject whose key was destroyed; the run's log has them too
<runs-dir>/<run>/exams/<n>/        one log for each exam; the run's own log names them all
<runs-dir>/<run>/effects/reasked/  what `effect`, `bisect` and others asked again; the run's log names its head
<runs-dir>/<run>/beginning         how to start the run; may be deleted once the log has an event
<runs-dir>/<run>/examining         the lock of an exam in progress; may be deleted otherwise
<runs-dir>/<run>/in-flight         how many calls are in flight; may be deleted
"""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.run.budget import UNLIMITED, Limits
from mage_es.events.disk import FileSystem, Layout, LocalFileSystem, WriterLock, write_new
from mage_es.events.disk.documents import UNREADABLE, Past
from mage_es.events.disk.opening import read_small
from mage_es.events.errors import LogDamaged, PrerequisiteError, UsageError, nearest
from mage_es.events.log import Log, LogReader
from mage_es.events.log.markers import parse as parse_marker
from mage_es.events.vocabulary import RunRegistered

RUNS_DIR = "runs"
"""The default folder of runs, below the current folder."""
NAME_OF_ORDINAL = "{benchmark}-s{seed}-{ordinal:03d}"
_OURS = ("log", "snapshots", "replays", "exams", "effects", "examining", "in-flight", "keys", "beginning", "erasures")
FLOOR_MIB = 256
"""The free space that an iteration needs to start; a long iteration writes a few MiB, its snapshot as much again."""


class Beginning(msgspec.Struct, frozen=True):
    """What a run starts with, in case it is killed before its first event: a configuration and a budget; for a baseline
    its name and number of questions; for a method also those to learn from and its tokens; for a run that continues
    another, the other's folder and marker and how many of its questions are asked again; and what is registered."""

    config: Config
    limits: Limits = UNLIMITED
    baseline: str = ""
    questions: int | None = None
    from_run: str = ""
    at: str = "latest"
    learn_from: int | None = None
    budget_tokens: int = 0
    reproof: int = 0
    registration: RunRegistered | None = None


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

    @property
    def examining_path(self) -> Path:
        return self.path / "examining"

    def exams(self) -> list[Run]:
        """Return the exams in the order in which they were taken, each as a run whose log is the exam's. The folder of
        an exam that was killed before it had a log is skipped."""
        return [self.exam(log.parent.name) for log in sorted(self.exams_path.glob("*/log")) if _holds_log(log)]

    def exam(self, name: str) -> Run:
        return Run(f"{self.id}/{name}", self.exams_path / name)

    @property
    def reasked(self) -> Run:
        """What was asked again, as a run with a log of its own, which need not exist."""
        return Run(f"{self.id}/reasked", self.path / "effects" / "reasked")

    @property
    def past(self) -> Run:
        """The run that this one continues, as far as its log is part of this run's log; it need not exist."""
        return Run(f"{self.id}/past", self.log_path / "past")

    def parts(self) -> list[Run]:
        """Return everything that has its own log within the run: its exams, what was asked again, and its past."""
        past = [self.past, *self.past.parts()] if _holds_log(self.past.log_path) else []
        return [*self.exams(), *([self.reasked] if _holds_log(self.reasked.log_path) else []), *past]

    @property
    def events(self) -> int:
        """How many events the run has recorded, 0 if it ended before its first. Raises `LogDamaged`."""
        if not _holds_log(self.log_path):
            if exams := self.exams():
                raise LogDamaged(f"{self.log_path} is missing, the log of the run that took exam {exams[0].path.name}.")
            return 0
        return LogReader(self.log_path, opened=False).head.seq

    @property
    def erasures_path(self) -> Path:
        return self.path / "erasures"

    @property
    def beginning_path(self) -> Path:
        return self.path / "beginning"

    def beginning(self) -> Beginning | None:
        """Return what a run without events should start with; None if unknown or if it has started."""
        try:
            recorded = msgspec.json.decode(read_small(self.beginning_path), type=Beginning)
        except (OSError, *UNREADABLE):
            return None
        return None if self.events else recorded

    def forget_beginning(self) -> None:
        self.beginning_path.unlink(missing_ok=True)

    def foreign(self) -> list[str]:
        """Return the names in the run's folder that do not belong to a run."""
        return sorted(path.name for path in self.path.iterdir() if path.name not in _OURS)

    def begin(self, fs: FileSystem | None = None, *, past: tuple[LogReader, Past] | None = None) -> Log:
        """Return the log of a run that has recorded nothing yet; it is created unless an earlier start left one. It
        continues the log in `past`, if given."""
        parent, takes = past or (None, None)
        if (self.log_path / "FORMAT").exists():
            log = Log.open(self.log_path, clock=clock, fs=fs)
            if not log.head.seq and log.past == takes:
                return log
            log.close()
            if log.head.seq:
                raise UsageError(_name_taken(self.path))
            shutil.rmtree(self.log_path)  # an earlier start, which went on from something else
        if parent:
            parent.link(Layout(self.log_path).past)
        return Log.create(self.log_path, run=self.id, clock=clock, fs=fs, past=takes)

    def replay_path(self, marker: str) -> Path:
        """Return the default place to rebuild a replay to a marker."""
        return self.path / "replays" / marker.replace("/", "-").replace(":", "-")


def create_run(
    runs_dir: Path | str,
    *,
    benchmark: str,
    seed: int,
    beginning: Beginning | None = None,
    run_id: str | None = None,
    option: str = "--run-id",
) -> Run:
    """Return an unused run directory: a new one, or one whose start ended before its first event. Raises `UsageError`
    if the name, which `option` gives, is taken or invalid, `LogDamaged` if it holds a run that cannot be read."""
    if run_id is not None:
        require_name(run_id)
    runs_dir = Path(runs_dir)
    try:
        runs_dir.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"{runs_dir} is a file: give a folder for runs.") from None
    for ordinal in count(1):
        name = run_id or NAME_OF_ORDINAL.format(benchmark=benchmark, seed=seed, ordinal=ordinal)
        run = Run(name, runs_dir / name)
        try:
            run.path.mkdir()
        except FileExistsError:
            if run_id is None:
                continue
            require_free(run, option)
            if foreign := run.foreign():
                raise UsageError(
                    f"{run.path} is not a run's folder: it holds {foreign[0]}. Choose another name."
                ) from None
        break
    if beginning:
        write_new(LocalFileSystem(), run.beginning_path, msgspec.json.encode(beginning))
    else:
        run.forget_beginning()  # from an earlier start
    return run


def require_free(run: Run, option: str = "--run-id") -> None:
    """Raise `UsageError` if there is a run in this place already, whose name `option` gives."""
    if run.events:
        raise UsageError(_name_taken(run.path, option))


def delete_run(run: Run, *, instead: Path | None = None) -> None:
    """Delete a run's folder with everything in it; the folder `instead`, on the same disk, takes its place.

    Raises:
        UsageError: The folder is a link, or holds something that is not part of a run.
        RunLocked: Another process is writing the run or one of its exams.
    """
    if run.path.is_symlink():
        raise UsageError(f"{run.path} is a link: name the folder that it leads to, {run.path.resolve()}.")
    if foreign := run.foreign():
        raise UsageError(f"{run.path} also holds {foreign[0]}, which is not part of a run: move it away first.")
    with ExitStack() as held:
        for each in (run, *run.parts()):
            if each.log_path.is_dir():
                held.callback(WriterLock(LocalFileSystem(), Layout(each.log_path).lock).release)
        # Renamed first, so that nothing mistakes it for a run: a process that dies here leaves no half-deleted run.
        doomed = Path(tempfile.mkdtemp(prefix=".deleting-", dir=run.path.parent))
        try:
            run.path.rename(doomed / run.path.name)
            if instead:
                try:
                    instead.rename(run.path)
                except OSError:
                    (doomed / run.path.name).rename(run.path)
                    raise
                LocalFileSystem().sync_folder(run.path.parent)
        finally:
            shutil.rmtree(doomed)


def _name_taken(path: Path, option: str = "--run-id") -> str:
    way = f"or continue it with `mage-es resume {path.name}`."
    return f"There is a run {path.name!r} already in {path.parent}: choose another name with {option}, {way}"


def _holds_log(path: Path) -> bool:
    """Return whether a folder holds a log, intact or not."""
    disk, layout = LocalFileSystem(), Layout(path)
    try:
        return disk.exists(layout.format) or bool(layout.events(disk))
    except (LogDamaged, OSError):  # something else is in the place of its files
        return True


def is_run(path: Path) -> bool:
    """Return whether a folder is a run's, intact or not."""
    run = Run(path.name, path)
    return _holds_log(run.log_path) or bool(run.exams()) or run.beginning_path.exists()


def other_than_run(path: Path) -> str:
    """Return what a folder holds instead of a run, and what to do with it; "" for a run, intact or not."""
    here, name = path.resolve(), _log_name(path)
    if (here / "log" / "head").is_dir():
        return f"a backup: `mage-es restore {path} NAME` makes a run of it again."
    if "/" in name:  # a run's name has no slash: this log is named after its run and itself
        of, _, exam = name.rpartition("/")
        of = here.parents[1].name if here.parent.name in ("exams", "effects") else of  # a restored run may be renamed
        if exam == "reasked":
            return f"what was asked again of {of}: `mage-es effect {of}` reads it."
        return f"the exam {exam} of {of}: `mage-es runs show {of}` lists its exams, `mage-es verify {of}` checks them."
    if is_run(here) and (
        name
        or (here / "beginning").exists()
        or Layout(here / "log").events(LocalFileSystem())
        or (here / "exams").is_dir()
    ):
        return ""
    if _holds_log(here):
        return f"the log of one: name the folder that holds it, {here.parent}."
    if (here / "snapshots").is_dir():
        of = here.parents[1].name if here.parent.name == "replays" else "the run"
        return f"a state of {of} that `mage-es replay` rebuilt, without a log: verify {of} instead."
    if here.name == "exams" and is_run(here.parent):
        return f"the exams of {here.parent.name}: `mage-es runs show {here.parent.name}` lists them."
    if runs := list_runs(here):
        return f"a folder of runs, such as {runs[-1].id}: name one of them, or pass it as --runs-dir."
    held = ", ".join(sorted(each.name for each in here.iterdir())[:3])
    return f"a folder with {held or 'nothing'} in it and without a log: give a folder that `evolve` made."


def _log_name(path: Path) -> str:
    """Return a log's own name, or "" if its FORMAT does not say."""
    try:
        return str(msgspec.json.decode(read_small(path / "log" / "FORMAT"), type=dict[str, object])["run"])
    except (OSError, ValueError, KeyError, *UNREADABLE):
        return ""


def require_name(name: str) -> None:
    """Raise `UsageError` for an invalid run name; it must also name a folder."""
    if name in ("", ".", "..") or name.startswith("-") or "/" in name or "\\" in name or not name.isprintable():
        raise UsageError(f"{name!r} cannot be a run's name: give a plain folder name, such as gsm8k-s42-001.")


def list_runs(runs_dir: Path | str = RUNS_DIR) -> list[Run]:
    """Return the runs in a folder, oldest first."""
    runs_dir = Path(runs_dir)
    if not runs_dir.is_dir():
        return []
    runs = [path for path in runs_dir.iterdir() if is_run(path) and "/" not in _log_name(path)]
    return sorted((Run(path.name, path) for path in runs), key=age)


def age(run: Run) -> tuple[int, str]:
    """Return the key that sorts runs from oldest to newest."""
    marker = run.log_path / "FORMAT"
    return (marker if marker.exists() else run.path).stat().st_mtime_ns, run.id


def find_run(runs_dir: Path | str = RUNS_DIR, name: str | None = None) -> Run:
    """Return a run by its name or path, by default the newest.

    Raises:
        UsageError: There is no such run, or the folder is not a run; near matches are listed.
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
            if other := other_than_run(candidate):
                raise UsageError(f"{candidate} is not a run, but {other}")
            return Run(candidate.resolve().name, candidate)
    raise UsageError(f"There is no run {name!r} in {runs_dir}.{nearest(name, [run.id for run in runs])}")


def as_run(run: Run | Path | str) -> Run:
    """Return a run that is given as an object, by its folder, or by its name in `RUNS_DIR`. Raises `UsageError`."""
    return run if isinstance(run, Run) else find_run(RUNS_DIR, str(run))


def require_free_space(path: Path, *, floor_mib: int = FLOOR_MIB) -> None:
    """Raise `PrerequisiteError` if fewer than `floor_mib` MiB are free on the disk that holds `path`."""
    free = shutil.disk_usage(path).free // 2**20
    if free < floor_mib:
        raise PrerequisiteError(
            f"Only {free} MiB are free on the disk of {path}, and an iteration needs {floor_mib} MiB to start. "
            f"Nothing is lost: free some space and resume."
        )


def clock() -> int:
    """Return the wall clock in microseconds since 1970 (UTC); the shell's only clock for records."""
    return time.time_ns() // 1000


def moment_of(text: str, runs_dir: Path | str = RUNS_DIR) -> tuple[Run, str]:
    """Return the run and the marker that `RUN@MARKER` means; without a marker it is `latest`, without a run the newest.
    Raises `UsageError` if there is no such run, or the marker is malformed."""
    name, at, marker = text.rpartition("@")
    if not at:
        name, marker = text, "latest"
    parse_marker(marker)
    return find_run(runs_dir, name or None), marker
