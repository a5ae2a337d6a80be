"""A fork begins a run where another was, shares its log, and learns what the other would have learned."""

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.histories.fork import fork
from mage_es.engine.histories.merge import merge
from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import OWN_ACCOUNTS, inheritance, last_inherited
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.resume import resume
from mage_es.engine.verbs.runs import summarise
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import Digest, IterationClosed, ModelCalled, RunStarted
from mage_es.projections.fold import fold
from tests.engine.conftest import SMALL


def learned(digests: tuple[Digest, ...]) -> dict[str, str]:
    return {each.projection: each.value for each in digests if each.projection not in OWN_ACCOUNTS}


def closed(run: Run) -> dict[int, dict[str, str]]:
    return {event.iteration: learned(event.digests) for event in LogReader(run.log_path).of(IterationClosed)}


@pytest.fixture
def parent(small_run: Run, tmp_path: Path) -> Run:
    return Run("small", shutil.copytree(small_run.path, tmp_path / "small"))


def made(parent: Run, at: str, name: str) -> Run:
    report = fork(parent, at=at, run_id=name)
    return Run(report.run_id, Path(report.path))


@pytest.mark.parametrize("at", ["start", "iter-0", "latest"])
def test_before_any_call_it_has_what_the_other_had_learned(parent: Run, at: str) -> None:
    reader = LogReader(made(parent, at, "branch").log_path)
    begun, theirs = inheritance(reader), LogReader(parent.log_path)
    assert begun and not list(reader.of(ModelCalled)) and len(list(reader.of(RunStarted))) == 1
    then = fold(theirs, until=begun.seq).digests()
    assert begun.digests == then
    assert learned(fold(reader, until=last_inherited(reader)).digests()) == learned(then)


@pytest.mark.slow
def test_it_goes_on_as_evolve_from_would_and_needs_the_other_no_longer(parent: Run, tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, iterations=1)
    evolve(config, from_run=parent, at="iter-0", runs_dir=tmp_path, run_id="evolved")
    branch = made(parent, "iter-0", "branch")
    shutil.rmtree(parent.path)
    resume(branch)
    ends = closed(branch)
    assert all(ends[k] == digests for k, digests in closed(Run("evolved", tmp_path / "evolved")).items())
    assert verify(branch).ok, verify(branch)


@pytest.mark.slow
def test_a_fork_of_a_fork_is_verified_when_both_others_are_gone(parent: Run) -> None:
    branch = made(parent, "iter-0", "branch")
    resume(branch)
    last = closed(branch)
    twig = made(branch, "latest", "twig")
    for run in (parent, branch):
        shutil.rmtree(run.path)
    report = verify(twig)
    assert report.ok and [check.name for check in report.checks].count("past") == 2
    reader = LogReader(twig.log_path)
    assert learned(fold(reader).digests()) == last[max(last)]


@pytest.mark.slow
def test_a_byte_that_changed_in_what_it_shares_is_found(parent: Run) -> None:
    branch = made(parent, "latest", "branch")
    segment = next(path for path in (branch.past.log_path / "seg").iterdir() if ".vec" not in path.name)
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.unlink()
    segment.write_bytes(data)
    report = verify(branch)
    assert not report.ok and report.checks[-1].name == "past" and segment.name in report.checks[-1].detail
    assert verify(parent).ok


@pytest.mark.slow
def test_settings_and_a_moment_within_an_iteration(parent: Run) -> None:
    report = fork(parent, at="iter-0", config=msgspec.structs.replace(SMALL, guard="off"), run_id="branch")
    started = next(LogReader(Path(report.path) / "log").of(RunStarted))
    assert b'"guard":"off"' in started.config.encode() and report.marker == "iter-0"
    with pytest.raises(UsageError, match="continues from a closed iteration"):
        fork(parent, at="iter-0/evaluate", run_id="other")
    with pytest.raises(UsageError, match="branch"):
        fork(parent, run_id="branch")
    shutil.rmtree(Path(report.path) / "log" / "past")
    with pytest.raises(LogDamaged, match="is missing, the log that branch continues"):
        fold(LogReader(Path(report.path) / "log"))


ENDED = """
import os, sys
from pathlib import Path

def end(name: str, given: tuple) -> None:
    if name == "open" and str(given[0]).startswith(branch + "/log/") and os.path.exists(branch + "/log/FORMAT"):
        os._exit(9)

verb, *runs, branch = sys.argv[1:]
if verb == "fork":
    from mage_es.engine.histories.fork import fork
    sys.addaudithook(end)
    fork(Path(runs[0]), run_id=Path(branch).name)
else:
    from mage_es.engine.histories.merge import merge
    sys.addaudithook(end)
    merge(Path(runs[0]), Path(runs[1]), run_id=Path(branch).name)
"""


def ended(verb: str, *runs: Run, branch: Path) -> Run:
    """Return a run whose process was ended before the run's first event."""
    words = [verb, *(str(run.path) for run in runs), str(branch)]
    assert subprocess.run([sys.executable, "-c", ENDED, *words], check=False).returncode == 9
    run = Run(branch.name, branch)
    assert branch.is_dir() and not run.events
    return run


def test_one_that_was_killed_before_its_first_event_is_begun_by_what_the_list_of_runs_says(parent: Run) -> None:
    branch = ended("fork", parent, branch=parent.path.parent / "branch")
    assert "`mage-es resume branch`" in summarise(branch).problem
    assert resume(branch, config=None).state == "finished" and not branch.beginning_path.exists()
    begun = inheritance(LogReader(branch.log_path))
    assert begun and begun.parent == "small" and verify(branch).ok
    merged = ended("merge", parent, branch, branch=parent.path.parent / "merged")
    assert "run the command that began it again, with --run-id merged" in summarise(merged).problem
    assert merge(parent, branch, run_id="merged").memories
