"""Work on the cells of a matrix, several at a time: start or resume each cell's run, then run its missing exams.

Rules
    - What is left to do is read from the cell's folder every time, so any process can leave or resume a cell at any
      point. A finished cell costs nothing.
    - A run whose configuration or tasks differ from the cell's is left alone, and the cell fails.
    - A step is a command in its own process group: Ctrl-C reaches it only through this module, once to finish the calls
      in flight, a second time to stop at once.
    - Work on a cell needs its lock, which is released when the process that holds it ends; so several processes, or
      machines with a shared folder, may share a matrix.
    - If a step outlives the process that started it, the next process waits for it, since it does what is needed
      anyway. In its first seconds, before it has the run's lock, it cannot be noticed: of two such steps the second
      fails, and the cell with it.
"""

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from io import FileIO
from pathlib import Path
from typing import IO, Literal, NamedTuple

import msgspec

from mage_es.engine.config import difference, parse
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import exam_records, is_own, learner_of
from mage_es.engine.run.world import first_event
from mage_es.events.disk import Layout, LocalFileSystem, Lock
from mage_es.events.disk.opening import LARGEST, open_regular, read_small
from mage_es.events.errors import MageError, PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ExamClosed, IterationClosed, RunFinished

POLL = 0.1
"""Seconds between two checks of a step and of a requested stop."""
STOP_NOW = 2
"""The number of requests after which a stop is immediate."""
NOTES = ".matrix"
"""Folder beside the runs for the output of steps, and for locks."""

_SAYS = "mage-es: "
"""The prefix of a failing command's message."""
_BEGAN = "\n$ "
"""The prefix of each command in the file with the output of a cell's steps."""
PROGRESS = re.compile(r"(iter-\d+ of \d+: |start: |exam\b).*\bcalls \d+ and \d+ for guidance")
"""A line of progress; other lines are tables and hints."""

CellState = Literal["new", "unfinished", "unexamined", "done"]


class Job(NamedTuple):
    """The work on a cell: the command that starts its run, its exams, and its configuration.

    `config` is canonical JSON, "" for a baseline, which is its own exam. `places` are options of every command, such
    as the folder of the data sets. `data_sha256` is that of the user's own tasks as they are now, "" for other
    benchmarks, whose files are pinned.
    """

    name: str
    begin: tuple[str, ...]
    exams: tuple[str, ...]
    config: str
    places: tuple[str, ...] = ()
    data_sha256: str = ""


class CellOutcome(NamedTuple):
    """How the work on a cell ended; if the cell is not done, `problem` says why, and `command` continues it."""

    name: str
    end: Literal["done", "skipped", "failed", "stopped", "taken"]
    seconds: float = 0.0
    problem: str = ""
    command: str = ""


class Desk(msgspec.Struct):
    """What all cells share: the folder of the runs, the program to start, where messages go, and how often a stop was
    requested: `look` reports it, and a raised Ctrl-C makes it urgent."""

    runs_dir: Path
    program: tuple[str, ...]
    say: Callable[[str], None]
    look: Callable[[], int]
    is_urgent: bool = False

    def asked(self) -> int:
        """Return 0, 1 (finish the calls in flight) or 2 (stop now)."""
        return STOP_NOW if self.is_urgent else int(self.look())


def state_of(job: Job, runs_dir: Path) -> CellState:
    """Return the progress of a cell.

    Raises:
        UsageError: Its run was started with another configuration, or its file of tasks has changed since.
        LogDamaged: It cannot be read.
    """
    words = next_words(job, runs_dir)
    if not words:
        return "done"
    return {"resume": "unfinished", "exam": "unexamined"}.get(words[0], "new")  # type: ignore[return-value]


def next_words(job: Job, runs_dir: Path) -> tuple[str, ...]:
    """Return the command of a cell's next step, empty if the cell is done. Raises what `state_of` raises."""
    run = Run(job.name, runs_dir / job.name)
    if not run.events:
        return job.begin
    reader = LogReader(run.log_path)
    begun = first_event(reader)
    changes = difference(parse(begun.config), parse(job.config)) if job.config else []
    if changes:
        listed = "; ".join(f"{name} was {before!r}, now {after!r}" for name, before, after in changes)
        raise UsageError(f"{run.path} was started with another configuration: {listed}. Rename the run or the variant.")
    if job.data_sha256 not in ("", begun.data_sha256):
        raise UsageError(
            f"{run.path} was started with other tasks: {begun.benchmark.partition('?')[0]} has changed since, and no "
            "report would compare the two. Restore the file, or move the runs of this matrix elsewhere."
        )
    if not reader.last(RunFinished if job.config else ExamClosed):
        return ("resume", job.name)
    sat = _sat(run, reader)
    missing = [marker for marker in job.exams if marker not in sat] if job.config else []
    return ("exam", job.name, "--at", missing[0]) if missing else ()


def _sat(run: Run, reader: LogReader) -> set[str]:
    """Return the markers of the run's own complete exams; `latest` only if it is the run's end."""
    found, end, learner = set[str](), reader.last(IterationClosed), learner_of(reader)
    for record in exam_records(reader):
        opened = record.opened
        is_stale = opened.marker == "latest" and opened.head_seq < end
        if record.closed and is_own(opened, learner) and not is_stale and record.is_there(run):
            found.add(opened.marker)
    return found


def work(job: Job, desk: Desk) -> CellOutcome:
    """Take a cell's lock and do its steps until it is done, one fails, or a stop is requested."""
    began, again = time.monotonic(), _again(job, desk)
    try:
        if desk.asked():
            return CellOutcome(job.name, "stopped", command=again)
        if not next_words(job, desk.runs_dir):
            return CellOutcome(job.name, "skipped")
        try:
            lock = _lock(job, desk)
        except BlockingIOError:
            return CellOutcome(job.name, "taken", problem="another process is working on it", command=again)
        try:
            problem = _steps(job, desk)
        finally:
            lock.release()
    except (MageError, OSError) as error:
        problem = str(error)
    seconds = time.monotonic() - began
    if desk.asked() and problem:
        return CellOutcome(job.name, "stopped", seconds, command=_again(job, desk))
    return CellOutcome(
        job.name, "failed" if problem else "done", seconds, problem, _again(job, desk) if problem else ""
    )


def _lock(job: Job, desk: Desk) -> Lock:
    path = desk.runs_dir / NOTES / "locks" / job.name
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return LocalFileSystem().lock(path)
    except BlockingIOError:
        raise
    except OSError as error:
        raise PrerequisiteError(
            f"{path} cannot be locked: {error.strerror}. Give --runs-dir a folder whose file system has locks."
        ) from error


def _steps(job: Job, desk: Desk) -> str:
    """Do the remaining steps; return the problem, "" if the cell is done."""
    before: tuple[str, ...] = ()
    while _is_free(job, desk):
        if not (words := next_words(job, desk.runs_dir)):
            return ""
        step = f"{words[0]} at {words[-1]}" if words[0] == "exam" else words[0]
        if words == before:
            return f"{step} succeeded but left the cell unchanged"
        before = words
        desk.say(f"{job.name}: {step}")
        code = _run(job, desk, words)
        if code:
            end = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
            return f"{step} {end}: {_complaint(job, desk) or 'it printed nothing'}"
    return "stopped while another process was working on it"


def _is_free(job: Job, desk: Desk) -> bool:
    """Wait until no process writes or examines the run; return False if a stop was requested."""
    run = Run(job.name, desk.runs_dir / job.name)
    lock, is_told = Layout(run.log_path).lock, False
    while _is_locked(lock):
        if not is_told:
            desk.say(f"{job.name}: a process that was started earlier is still working on it; waiting for it to end")
        is_told = True
        if desk.asked():
            return False
        time.sleep(POLL)
    return True


def _is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        LocalFileSystem().lock(path).release()
    except BlockingIOError:
        return True
    return False


def _run(job: Job, desk: Desk, words: tuple[str, ...]) -> int:
    """Run a command to its end and return its exit code; pass on requested stops."""
    path = printed(job, desk)
    path.parent.mkdir(parents=True, exist_ok=True)
    options = ("--runs-dir", str(desk.runs_dir), *job.places)
    everything = [*desk.program, *words, *options]
    passed = 0
    with (
        _open_output(path, _command_line((*words, *options))) as log,
        subprocess.Popen(everything, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True) as child,
    ):
        try:
            while child.poll() is None:
                wanted = desk.asked()
                while passed < wanted:
                    child.send_signal(signal.SIGINT)
                    passed += 1
                time.sleep(POLL)
        except BaseException:  # also Ctrl-C, which the command in its own session does not get
            child.send_signal(signal.SIGINT)
            raise
    return child.returncode


def _open_output(path: Path, command: str) -> IO[bytes]:
    """Return the output file of a step, opened for appending, with the command written to it."""
    log = FileIO(open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab")
    log.write(f"{_BEGAN}{command}\n".encode())
    return log


def printed(job: Job, desk: Desk) -> Path:
    return desk.runs_dir / NOTES / f"{job.name}.txt"


def how_far(job: Job, desk: Desk) -> str:
    """Return the latest line of progress of a cell's current step, "" for none."""
    return next(filter(PROGRESS.match, reversed(_lines(job, desk))), "")


def _complaint(job: Job, desk: Desk) -> str:
    """Return the error message of the latest step, or else its last line."""
    lines = _lines(job, desk)
    said = [line.removeprefix(_SAYS) for line in lines if line.startswith(_SAYS)]
    return (said or lines or [""])[-1]


def _lines(job: Job, desk: Desk) -> list[str]:
    path = printed(job, desk)
    text = read_small(path, LARGEST).decode(errors="replace") if path.exists() else ""
    return [line.strip() for line in text.rpartition(_BEGAN)[2].splitlines()[1:] if line.strip()]


def _again(job: Job, desk: Desk) -> str:
    """Return the command that continues a cell, "" if unknown."""
    try:
        words = next_words(job, desk.runs_dir)
    except MageError:
        words = ("verify", job.name)
    return _command_line((*words, "--runs-dir", str(desk.runs_dir), *job.places)) if words else ""


def _command_line(words: Sequence[str]) -> str:
    return shlex.join(["mage-es", *words])


EVERY = 30.0
"""Seconds between two lines of progress."""


def run_here(jobs: Sequence[Job], desk: Desk, *, at_once: int) -> list[CellOutcome]:
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
            desk.is_urgent = True
            raise
    return [future.result() for future in futures]


def _watch(futures: Sequence[Future[CellOutcome]], jobs: Sequence[Job], desk: Desk) -> None:
    """Report each cell that ends, and at intervals those at work; this thread stays free for signals."""
    waiting, spoken, ended = set(futures), time.monotonic(), list[CellOutcome]()
    while waiting:
        done, waiting = wait(waiting, timeout=POLL, return_when=FIRST_COMPLETED)
        for future in done:
            desk.say(f"[{len(ended) + 1}/{len(futures)}] {outcome_line(future.result(), ended)}")
            ended.append(future.result())
        if time.monotonic() - spoken > EVERY:
            spoken = time.monotonic()
            for job in (job for job, future in zip(jobs, futures, strict=True) if future.running()):
                desk.say(f"{job.name}: {how_far(job, desk) or 'at work'}")


def outcome_line(outcome: CellOutcome, earlier: Iterable[CellOutcome] = ()) -> str:
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
