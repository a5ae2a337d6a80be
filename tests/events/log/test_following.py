"""Following shows what is durable, in order, once, and ends when the run is over."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mage_es.events import wal
from mage_es.events.disk import Layout, LocalFileSystem
from mage_es.events.log import Log, LogReader, follow
from mage_es.events.vocabulary import MAGE_ES, Draft, RunFinished
from mage_es.events.wal.bodies import body_of
from tests.events.samples import abandon, clock, judged


class Enough(Exception):
    """The test has seen enough."""


def finished() -> Draft:
    return Draft(event=RunFinished(iterations=1), iteration=0, phase="close")


def steps(*actions: Callable[[], object]) -> Callable[[], None]:
    """Return a wait that does one thing each time, and then ends the following."""
    waiting = iter(actions)

    def wait() -> None:
        action = next(waiting, None)
        if action is None:
            raise Enough
        action()

    return wait


def seen(path: Path, *actions: Callable[[], object], since: int = 1) -> tuple[list[int], bool]:
    """Return the sequence numbers that were shown, and whether the following ended by itself."""
    numbers = []
    try:
        for record in follow(path, since=since, wait=steps(*actions)):
            numbers.append(record.seq)
    except Enough:
        return numbers, False
    return numbers, True


def test_every_record_is_shown_once_across_sealing_and_reopening(tmp_path: Path) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock())
    log.append([judged(1), judged(2)])

    def reopen() -> None:
        log.close()
        with Log.open(tmp_path / "log", clock=clock()) as later:
            later.append([judged(4), judged(5)])

    numbers, ended = seen(tmp_path / "log", lambda: log.append([judged(3)]), lambda: None, reopen)
    assert numbers == list(range(1, LogReader(tmp_path / "log").head.seq + 1))
    assert len(numbers) == 7
    assert not ended


def test_a_record_that_is_written_but_not_yet_synced_is_not_shown(tmp_path: Path) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock())
    log.append([judged(1)])
    drafts = [judged(2)]
    body = body_of(drafts, 0, MAGE_ES)
    frame, _ = wal.encode(body, first=2, count=1, previous=bytes.fromhex(log.head.chain))

    def write_only() -> None:
        with Layout(tmp_path / "log").wal(1).open("ab") as file:
            file.write(frame)

    assert seen(tmp_path / "log", write_only, lambda: None) == ([1], False)
    assert seen(tmp_path / "log", lambda: log._lock.publish(2)) == ([1, 2], False)
    abandon(log)


def test_a_log_that_is_closed_after_the_end_of_its_run_ends_the_following(tmp_path: Path) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock())
    log.append([judged(1)])
    assert seen(tmp_path / "log", lambda: log.append([finished()]), log.close) == ([1, 2, 3], True)
    assert seen(tmp_path / "log", since=3) == ([3], True)


def test_a_run_that_stopped_before_its_end_may_go_on(tmp_path: Path) -> None:
    with Log.create(tmp_path / "log", run="r1", clock=clock()) as log:
        log.append([judged(1)])
    assert seen(tmp_path / "log") == ([1, 2], False)


def test_a_writer_at_work_after_the_end_of_its_run_is_waited_for(tmp_path: Path) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock())
    log.append([judged(1), finished()])
    assert seen(tmp_path / "log") == ([1, 2], False)
    abandon(log)


def test_a_writer_that_was_killed_after_the_end_of_its_run_is_not_waited_for(tmp_path: Path) -> None:
    if not LocalFileSystem().boot_id():
        pytest.skip("this system does not say when it was started")
    text = (
        "import os, sys; from pathlib import Path\n"
        "from mage_es.events.log import Log\n"
        "from tests.events.log.test_following import finished, judged\n"
        "log = Log.create(Path(sys.argv[1]), run='r1', clock=lambda: 0)\n"
        "log.append([judged(1), finished()]); os._exit(9)"
    )
    root = Path(__file__).resolve().parents[3]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    killed = subprocess.run([sys.executable, "-c", text, str(tmp_path / "log")], env=environment, check=False)
    assert killed.returncode == 9
    assert seen(tmp_path / "log") == ([1, 2], True)
