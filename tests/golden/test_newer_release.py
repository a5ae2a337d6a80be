"""A log that a later release went on with: this one reads of it what it can, and stops only where it must."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.verbs.replay import replay
from mage_es.events.care import plan_repair
from mage_es.events.errors import UnknownEvent
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import IterationClosed, TaskTypeCreated
from mage_es.projections.fold import fold
from tests.golden.generate import HERE, golden

pytestmark = pytest.mark.slow

ROOT = HERE.parents[1]
BEFORE = golden()[-1] / "run"

Written = Callable[[str], Run]


@pytest.fixture(params=["sealed", "tail"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Written:
    """A function that lets a later release append to a copy of the golden run."""

    def write(what: str) -> Run:
        run = Run("golden", tmp_path / "golden")
        shutil.copytree(BEFORE, run.log_path)
        command = [sys.executable, "-m", "tests.golden.newer_release", str(run.log_path), what, request.param]
        subprocess.run(command, cwd=ROOT, check=True)
        assert (len(list((run.log_path / "seg").glob("*0*.parquet"))) > 2) == (request.param == "sealed")
        return run

    return write


@pytest.mark.parametrize("what", ["unknown", "unread"])
def test_what_no_projection_reads_stops_neither_fold_nor_replay(written: Written, what: str) -> None:
    run = written(what)
    reader = LogReader(run.log_path)
    assert reader.head.seq > LogReader(BEFORE).head.seq
    assert fold(reader).digests() == fold(LogReader(BEFORE)).digests()
    report = replay(run, until="latest")
    rebuilt = {check.projection: check.rebuilt for check in report.checks}
    assert report.seq == reader.head.seq
    assert rebuilt == {digest.projection: digest.value for digest in fold(LogReader(BEFORE)).digests()}
    with pytest.raises(UnknownEvent, match="Read this run with the release that wrote it, or a newer one"):
        list(reader.records())
    assert len(list(reader.records({IterationClosed}))) == 4


def test_a_newer_version_of_what_a_projection_reads_stops_fold_and_replay(written: Written) -> None:
    run = written("read")
    reader = LogReader(run.log_path)
    with pytest.raises(UnknownEvent, match=r"task_type\.created in version 2, this release knows 1"):
        fold(reader)
    with pytest.raises(UnknownEvent):
        replay(run, until="latest")
    before = LogReader(BEFORE).head.seq
    assert fold(reader, until=before).digests() == fold(LogReader(BEFORE)).digests()


def test_a_field_that_a_later_release_added_is_passed_over(written: Written) -> None:
    reader = LogReader(written("wider").log_path)
    added = [event for _, event in reader.events({TaskTypeCreated: TaskTypeCreated.__struct_fields__})][-1]
    assert added == TaskTypeCreated(task_type="later", description="")
    assert fold(reader).digests() != fold(LogReader(BEFORE)).digests()
    assert list(reader.records())


def contents(path: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and file.name != "LOCK"}


@pytest.mark.parametrize("what", ["unknown", "read"])
def test_nothing_is_appended_to_a_tail_that_could_not_be_sealed(tmp_path: Path, what: str) -> None:
    shutil.copytree(BEFORE, tmp_path / "log")
    command = [sys.executable, "-m", "tests.golden.newer_release", str(tmp_path / "log"), what]
    subprocess.run(command, cwd=ROOT, check=True)
    before = contents(tmp_path / "log")
    with pytest.raises(UnknownEvent):
        Log.open(tmp_path / "log", clock=lambda: 1)
    assert contents(tmp_path / "log") == before
    assert plan_repair(tmp_path / "log").problems == ()
