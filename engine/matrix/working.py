"""Work on one cell until it is done: begin or resume its run, then set the exams that are missing, each a command.

Rules
    - What is left to do is read off the cell's folder every time, so a cell can be left and taken up at any point,
      by anybody. A finished cell is found done and costs nothing.
    - A run that was begun with another configuration than the cell's is left alone, and the cell fails.
    - A step is a command of its own in a process group of its own: Ctrl-C reaches it through here only, once to finish
      the calls in flight, a second time to stop now.
    - Nobody works on a cell without its lease; one that was lost stops the work.
    - A step that outlived whoever began it (a kill that spared it) is waited for: it does what would be done anyway.
"""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Literal, NamedTuple

from mage_es.engine.config import difference, parse
from mage_es.engine.matrix.leases import Lease, Leases
from mage_es.engine.opening import first_event
from mage_es.engine.runs import Run
from mage_es.events.errors import MageError, UsageError
from mage_es.events.filesystem import LocalFileSystem
from mage_es.events.layout import Layout
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import ExamClosed, ExamStarted, IterationClosed, RunFinished

POLL = 0.1
"""Seconds between two looks at a step, at whether to stop, and at the lease."""
STOP_NOW = 2
"""How often a stop has to be asked for until nothing is waited for."""
NOTES = ".matrix"
"""Folder beside the runs for what the steps print, and for leases."""

_SAYS = "mage-es: "
"""What the message of a command that fails begins with."""
_BEGAN = "\n$ "
"""What stands before each command in the file of what a cell's steps print."""
PROGRESS = re.compile(r"(iter-\d+ of \d+: |start: |exam\b).*\bcalls \d+ and \d+ for guidance")
"""How a line begins that says how far a step is; the others are its tables, and hints for whoever reads it there."""

Standing = Literal["new", "unfinished", "unexamined", "done"]


class Job(NamedTuple):
    """What a cell is to become: the words that begin its run, the exams, and the configuration that it must have.

    `config` is canonical JSON, "" for a baseline, which is its own exam. `places` are options of every command, such
    as the folder of the data sets.
    """

    name: str
    begin: tuple[str, ...]
    exams: tuple[str, ...]
    config: str
    places: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """How the work on a cell ended; `command` goes on with it where it is not done, `problem` says why it is not."""

    name: str
    end: Literal["done", "skipped", "failed", "stopped", "leased"]
    seconds: float = 0.0
    problem: str = ""
    command: str = ""


class Desk(NamedTuple):
    """Where work is done and how: folder of the runs, the program, its leases, and who is to be told and asked.

    `asked` returns how often a stop was asked for (0, 1, 2). With the lease in hand `fetch` brings what others did of
    the cell; `beside` is called all the time while a step runs, and `publish` at the end, whatever the end is.
    """

    runs_dir: Path
    program: tuple[str, ...]
    leases: Leases
    say: Callable[[str], None]
    asked: Callable[[], int]
    fetch: Callable[[], None] = lambda: None
    beside: Callable[[], None] = lambda: None
    publish: Callable[[], None] = lambda: None


def standing(job: Job, runs_dir: Path) -> Standing:
    """Return how far a cell is.

    Raises:
        UsageError: Its run was begun with another configuration.
        LogDamaged: Its log is not what was written.
    """
    words = next_words(job, runs_dir)
    if not words:
        return "done"
    return {"resume": "unfinished", "exam": "unexamined"}.get(words[0], "new")  # type: ignore[return-value]


def next_words(job: Job, runs_dir: Path) -> tuple[str, ...]:
    """Return the words of the next step of a cell, none where it is done. Raises as `standing` does."""
    run = Run(job.name, runs_dir / job.name)
    if not (run.log_path / "FORMAT").exists() or not (reader := LogReader(run.log_path)).head.seq:
        return job.begin
    begun = first_event(reader)
    changes = difference(parse(begun.config), parse(job.config)) if job.config else []
    if changes:
        listed = "; ".join(f"{name} was {before!r}, now {after!r}" for name, before, after in changes)
        raise UsageError(f"{run.path} was begun with another configuration: {listed}. Rename it, or the variant.")
    if not reader.last(RunFinished if job.config else ExamClosed):
        return ("resume", job.name)
    sat = _sat(run, reader)
    missing = [marker for marker in job.exams if marker not in sat] if job.config else []
    return ("exam", job.name, "--at", missing[0]) if missing else ()


def _sat(run: Run, reader: LogReader) -> set[str]:
    """Return the markers of the whole exams without a control; `latest` only of the run's end."""
    found, end = set[str](), reader.last(IterationClosed)
    for log in (LogReader(exam.log_path) for exam in run.exams()):
        for started in (record.event for record in log.records({ExamStarted}) if log.last(ExamClosed)):
            if not isinstance(started, ExamStarted) or started.control != "none":
                continue
            if started.marker != "latest" or started.head_seq >= end:
                found.add(started.marker)
    return found


def work(job: Job, desk: Desk) -> Outcome:
    """Take a cell's lease and do its steps until it is done, one fails, or a stop is asked for."""
    began, again = time.monotonic(), _again(job, desk)
    try:
        if desk.asked():
            return Outcome(job.name, "stopped", command=again)
        if not next_words(job, desk.runs_dir):
            return Outcome(job.name, "skipped")
        lease = desk.leases.take(job.name)
        if lease is None:
            holder = desk.leases.holder_of(job.name) or "somebody else"
            return Outcome(job.name, "leased", problem=f"{holder} works on it", command=again)
        with lease:
            desk.fetch()
            try:
                problem = _steps(job, desk, lease)
            finally:
                desk.publish()
    except (MageError, OSError) as error:
        problem = str(error)
    seconds = time.monotonic() - began
    if desk.asked() and problem:
        return Outcome(job.name, "stopped", seconds, command=_again(job, desk))
    return Outcome(job.name, "failed" if problem else "done", seconds, problem, _again(job, desk) if problem else "")


def _steps(job: Job, desk: Desk, lease: Lease) -> str:
    """Do what is left to do; return why it is not done, "" where it is."""
    before: tuple[str, ...] = ()
    while _is_free(job, desk, lease):
        if not (words := next_words(job, desk.runs_dir)):
            return ""
        step = f"{words[0]} at {words[-1]}" if words[0] == "exam" else words[0]
        if words == before:
            return f"{step} ended well and left the cell as it was"
        before = words
        if words == job.begin:
            _clear(desk.runs_dir / job.name)
        desk.say(f"{job.name}: {step}")
        code = _run(job, desk, lease, words)
        if code:
            end = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
            return f"{step} {end}: {_complaint(job, desk) or 'it printed nothing'}"
    return "stopped while another process was at work on it"


def _is_free(job: Job, desk: Desk, lease: Lease) -> bool:
    """Wait until no process writes the cell's run or exams; return whether to go on then."""
    run = Run(job.name, desk.runs_dir / job.name)
    locks = [Layout(log).lock for log in (run.log_path, *(exam.log_path for exam in run.exams()))]
    is_told = False
    while any(map(_is_locked, locks)):
        if not is_told:
            desk.say(f"{job.name}: a process that was begun earlier still works on it; waiting for its end")
        is_told = True
        if desk.asked() or not lease.renew():
            return False
        time.sleep(POLL)
    return True


def _is_locked(path: Path) -> bool:
    """Return whether another process holds the lock of a log."""
    if not path.exists():
        return False
    try:
        LocalFileSystem().lock(path).release()
    except BlockingIOError:
        return True
    return False


def _run(job: Job, desk: Desk, lease: Lease, words: tuple[str, ...]) -> int:
    """Run a command to its end and return its exit code; pass on what was asked for, and keep the lease."""
    path = printed(job, desk)
    path.parent.mkdir(parents=True, exist_ok=True)
    options = ("--runs-dir", str(desk.runs_dir), *job.places)
    everything = [*desk.program, *words, *options]
    passed = 0
    with (
        _begun(path, _shown((*words, *options))) as log,
        subprocess.Popen(everything, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True) as child,
    ):
        try:
            while child.poll() is None:
                wanted = desk.asked() if lease.renew() else STOP_NOW
                while passed < wanted:
                    child.send_signal(signal.SIGINT)
                    passed += 1
                desk.beside()
                time.sleep(POLL)
        except BaseException:
            child.send_signal(signal.SIGINT)
            raise
    return child.returncode


def _begun(path: Path, command: str) -> IO[bytes]:
    """Return the file in which a step's words go, open at its end, below the command."""
    log = path.open("ab", buffering=0)
    log.write(f"{_BEGAN}{command}\n".encode())
    return log


def _clear(path: Path) -> None:
    """Remove what is left of a run that ended before its first event: there is nothing in it."""
    if path.exists():
        shutil.rmtree(path)


def printed(job: Job, desk: Desk) -> Path:
    """Return the file in which everything stands that the steps of a cell print."""
    return desk.runs_dir / NOTES / f"{job.name}.txt"


def how_far(job: Job, desk: Desk) -> str:
    """Return the last line in which the latest step of a cell says how far it is, "" where there is none."""
    return next(filter(PROGRESS.match, reversed(_lines(job, desk))), "")


def _complaint(job: Job, desk: Desk) -> str:
    """Return what the latest step says went wrong: the command's own last message, else the last line."""
    lines = _lines(job, desk)
    said = [line.removeprefix(_SAYS) for line in lines if line.startswith(_SAYS)]
    return (said or lines or [""])[-1]


def _lines(job: Job, desk: Desk) -> list[str]:
    """Return the lines of what the latest step of a cell has printed, below the command."""
    path = printed(job, desk)
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    return [line.strip() for line in text.rpartition(_BEGAN)[2].splitlines()[1:] if line.strip()]


def _again(job: Job, desk: Desk) -> str:
    """Return the command that goes on with a cell, "" where nobody can tell."""
    try:
        words = next_words(job, desk.runs_dir)
    except MageError:
        words = ("verify", job.name)
    return _shown((*words, "--runs-dir", str(desk.runs_dir), *job.places)) if words else ""


def _shown(words: Sequence[str]) -> str:
    return shlex.join(["mage-es", *words])
