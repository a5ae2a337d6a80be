"""Work on a cell: what is left to do is read off its folder; programs that fail, hang or do nothing are told apart."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mage_es.cli.progress import describe
from mage_es.engine.config import Config, canonical, fingerprint, parse
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.run.world import first_event
from mage_es.engine.study.matrix.working import (
    NOTES,
    CellOutcome,
    Desk,
    Job,
    how_far,
    next_words,
    outcome_line,
    run_here,
    state_of,
    work,
)
from mage_es.engine.verbs.exam import examine
from mage_es.events.disk import Layout, LocalFileSystem
from mage_es.events.errors import UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Draft, RunStarted
from tests.kit.plain_events import plain

pytestmark = pytest.mark.slow

CONFIG = canonical(Config(benchmark="wordmath"))
JOB = Job("cell", ("evolve", "wordmath"), ("start", "latest"), CONFIG)


@pytest.fixture
def desk(tmp_path: Path) -> Callable[..., Desk]:
    def make(script: str = "", *, say: Callable[[str], None] = print, asked: Callable[[], int] = lambda: 0) -> Desk:
        return Desk(tmp_path, (sys.executable, "-c", f"import sys, time, signal\n{script}"), say, asked)

    return make


def begun(folder: Path, config: str = CONFIG) -> None:
    """Leave a run that was begun and went no further."""
    settings = parse(config)
    started = plain(
        RunStarted,
        run_id="cell",
        benchmark="wordmath",
        seed=settings.seed,
        config=config,
        config_sha256=fingerprint(settings),
    )
    with Log.create(folder / "cell" / "log", run="cell", clock=lambda: 0) as log:
        log.append([Draft(event=started, iteration=-1, phase="open")])


@pytest.mark.paper("section 4.1, matrix")
def test_a_cell_is_begun_resumed_examined_and_done(tmp_path: Path, small_run: Run) -> None:
    assert state_of(JOB, tmp_path) == "new" and next_words(JOB, tmp_path) == JOB.begin
    begun(tmp_path)
    assert state_of(JOB, tmp_path) == "unfinished" and next_words(JOB, tmp_path) == ("resume", "cell")
    shutil.copytree(small_run.path, tmp_path / "small", ignore=shutil.ignore_patterns("exams"))
    run = Run("small", tmp_path / "small")
    whole = JOB._replace(name="small", config=first_event(LogReader(run.log_path)).config)
    for marker in ("start", "latest"):
        assert state_of(whole, tmp_path) == "unexamined"
        assert next_words(whole, tmp_path) == ("exam", "small", "--at", marker)
        sit(run, marker)
    assert state_of(whole, tmp_path) == "done" and next_words(whole, tmp_path) == ()
    for path in run.exams_path.iterdir():
        shutil.rmtree(path)
    sit(run, "start", control="shuffled")  # a control is not the exam
    assert next_words(whole, tmp_path) == ("exam", "small", "--at", "start")


def sit(run: Run, marker: str, control: str = "none") -> None:
    examine(run, at=marker, questions=5, control=control, data_dir=None, runtime=Runtime(workers=4))


def test_a_run_of_another_configuration_is_left_alone(tmp_path: Path, desk: Callable[..., Desk]) -> None:
    begun(tmp_path, canonical(Config(benchmark="wordmath", pool=7)))
    with pytest.raises(UsageError, match="pool was 7, now 200"):
        next_words(JOB, tmp_path)
    outcome = work(JOB, desk("raise SystemExit('never called')"))
    assert (outcome.end, "pool was 7" in outcome.problem) == ("failed", True)
    assert not (tmp_path / NOTES / "cell.txt").exists()


@pytest.mark.parametrize("lost", ["log/FORMAT", "log"])
def test_a_run_whose_log_cannot_be_read_fails_the_cell_and_keeps_every_file(
    tmp_path: Path, desk: Callable[..., Desk], small_run: Run, lost: str
) -> None:
    shutil.copytree(small_run.path, tmp_path / "cell")
    if not (run := Run("cell", tmp_path / "cell")).exams():
        sit(run, "start")
    path = run.path / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    before = sorted(tmp_path.rglob("cell/**/*"))
    outcome = work(JOB, desk("raise SystemExit('never called')"))
    assert (outcome.end, f"{path} is missing" in outcome.problem) == ("failed", True)
    assert sorted(tmp_path.rglob("cell/**/*")) == before


def test_a_step_that_fails_fails_the_cell_with_its_own_message_and_the_way_on(desk: Callable[..., Desk]) -> None:
    outcome = work(JOB, desk("print('mage-es: No such thing.', file=sys.stderr); print('more'); sys.exit(4)"))
    assert outcome.end == "failed"
    assert outcome.problem == "evolve ended with 4: No such thing."
    assert outcome.command.startswith("mage-es evolve wordmath --runs-dir ")


def test_a_step_that_is_killed_is_said_to_be_and_what_an_earlier_one_said_is_not_its_word(
    desk: Callable[..., Desk],
) -> None:
    work(JOB, desk("print('mage-es: No such thing.', file=sys.stderr); sys.exit(4)"))
    outcome = work(JOB, desk("import os; os.kill(os.getpid(), signal.SIGKILL)"))
    assert outcome.problem == "evolve was killed by signal 9: it printed nothing"


def test_a_step_that_outlived_its_matrix_is_waited_for(desk: Callable[..., Desk], tmp_path: Path) -> None:
    begun(tmp_path)
    said: list[str] = []
    lock = LocalFileSystem().lock(Layout(tmp_path / "cell" / "log").lock)

    def tell(text: str) -> None:
        said.append(text)
        if "waiting" in text:
            lock.release()

    work(JOB, desk("sys.exit(9)", say=tell))
    assert ["waiting" in text for text in said] == [True, False] and said[1] == "cell: resume"


def test_waiting_for_a_step_that_outlived_its_matrix_ends_with_a_stop(
    desk: Callable[..., Desk], tmp_path: Path
) -> None:
    begun(tmp_path)
    said: list[str] = []
    lock = LocalFileSystem().lock(Layout(tmp_path / "cell" / "log").lock)
    outcome = work(JOB, desk("sys.exit(9)", say=said.append, asked=lambda: len(said)))
    lock.release()
    assert (outcome.end, outcome.command.startswith("mage-es resume cell ")) == ("stopped", True)
    assert not (tmp_path / NOTES / "cell.txt").exists()


def test_what_a_step_prints_stands_below_its_command(desk: Callable[..., Desk], tmp_path: Path) -> None:
    work(JOB, desk("print('one'); print('two'); sys.exit(1)"))
    command = f"$ mage-es evolve wordmath --runs-dir {tmp_path}"
    assert (tmp_path / NOTES / "cell.txt").read_text() == f"\n{command}\none\ntwo\n"


def test_how_far_a_cell_is_its_latest_step_says_in_its_progress_and_not_in_its_hints(desk: Callable[..., Desk]) -> None:
    calls = {"execution_calls": 1200, "guidance_calls": 3}
    for phase, k in (("snapshot", -1), ("evaluate", 1), ("exam", -1)):
        course = {"iteration": k, "iterations": 2, "phase": phase, "done": 5, "total": 9}
        line = describe(ProgressNote(run_id="r", measure="accuracy", level=0.5, **course, **calls), 3.0)
        at = desk(f"print({line!r}); print('Next: mage-es replay cell\\n mage-es runs show'); sys.exit(1)")
        work(JOB, at)
        assert how_far(JOB, at) == line
    work(JOB, desk("print('Next: mage-es replay cell'); sys.exit(1)"))
    assert how_far(JOB, desk()) == ""


def test_a_step_that_ends_well_and_does_nothing_is_not_done_for_ever(desk: Callable[..., Desk]) -> None:
    outcome = work(JOB, desk())
    assert outcome.end == "failed" and "left the cell unchanged" in outcome.problem


def test_the_first_stop_reaches_the_step_once_and_the_second_again(desk: Callable[..., Desk], tmp_path: Path) -> None:
    script = (
        "count = 0\n"
        "def heard(*_):\n"
        "    global count; count += 1\n"
        "    print('heard', count, flush=True)\n"
        "    if count == 2: sys.exit(130)\n"
        "signal.signal(signal.SIGINT, heard)\n"
        "print('ready', flush=True)\n"
        "time.sleep(600); time.sleep(600)"
    )
    printed = tmp_path / NOTES / "cell.txt"

    def asked() -> int:
        text = printed.read_text() if printed.exists() else ""
        return 0 if "ready" not in text else 1 if "heard 1" not in text else 2

    outcome = work(JOB, desk(script, asked=asked))
    assert (outcome.end, printed.read_text().split()[-5:]) == ("stopped", ["ready", "heard", "1", "heard", "2"])
    assert outcome.command.startswith("mage-es evolve wordmath")


def test_a_cell_that_another_works_on_is_left_alone_until_that_one_has_ended(
    desk: Callable[..., Desk], tmp_path: Path
) -> None:
    # A step that ends with the process that began it, so that none is left behind. Only once it says so has it let go
    # of the lock, which a process that was just forked shares.
    step = (
        "import os, time; began = os.getppid(); print('ready', flush=True)\n"
        "while os.getppid() == began: time.sleep(0.1)"
    )
    held = (
        "import sys; from functools import partial; from pathlib import Path\n"
        "from mage_es.engine.study.matrix.working import Desk, Job, work\n"
        f"program = (sys.executable, '-c', {step!r})\n"
        "work(Job('cell', ('evolve',), (), ''), Desk(Path(sys.argv[1]), program, partial(print, flush=True), int))"
    )
    with subprocess.Popen([sys.executable, "-c", held, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout and other.stdout.readline() == "cell: evolve\n"
            output = tmp_path / NOTES / "cell.txt"
            while not output.exists() or "ready" not in output.read_text():
                assert other.poll() is None
                time.sleep(0.01)
            outcome = work(JOB, desk("raise SystemExit('never called')"))
        finally:
            other.kill()
    assert (outcome.end, outcome.problem) == ("taken", "another process is working on it")
    assert work(JOB, desk("sys.exit(3)")).problem.startswith("evolve ended with 3")


def test_a_failed_cell_does_not_stop_the_others(desk: Callable[..., Desk]) -> None:
    jobs = [JOB._replace(name=name, begin=(name,)) for name in ("bad", "worse")]
    said: list[str] = []
    at = desk("sys.exit({'bad': 1, 'worse': 2}[sys.argv[1]])", say=said.append)
    outcomes = run_here(jobs, at, at_once=2)
    assert [(outcome.name, outcome.end) for outcome in outcomes] == [("bad", "failed"), ("worse", "failed")]
    assert sum(line.startswith(("[1/2] ", "[2/2] ")) for line in said) == 2


def test_what_several_cells_failed_of_is_said_once() -> None:
    one = CellOutcome("one", "failed", 3.2, "evolve ended with 4: nobody listens there", "mage-es evolve one")
    assert outcome_line(one) == "one: FAILED after 3 s: evolve ended with 4: nobody listens there"
    assert outcome_line(one._replace(name="two"), [one]) == "two: FAILED after 3 s: as one"
    assert outcome_line(one._replace(name="two", problem="another"), [one]).endswith(": another")


def test_cells_that_were_not_begun_before_a_stop_stay_so(desk: Callable[..., Desk], tmp_path: Path) -> None:
    outcomes = run_here([JOB], desk("sys.exit(9)", asked=lambda: 1), at_once=1)
    assert [outcome_line(outcome) for outcome in outcomes] == ["cell: stopped"]
    assert not (tmp_path / NOTES / "cell.txt").exists()
