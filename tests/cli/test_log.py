"""`mage-es log` and `show seq:N` from the outside."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import MemoryAppended
from tests.events.samples import clock, judged

Command = Callable[..., Any]


def test_one_record_is_shown_with_all_its_fields(mage: Command, runs_dir: Path) -> None:
    record = next(LogReader(runs_dir / "first" / "log").records({MemoryAppended}))
    assert isinstance(record.event, MemoryAppended)
    outcome = mage("show", f"seq:{record.seq}")
    assert outcome.code == 0
    rows = [line.split() for line in outcome.out.splitlines()]
    for expected in (["seq", str(record.seq)], ["type", "memory.appended"], ["memory_id", record.event.memory_id]):
        assert expected in rows
    shown = json.loads(mage("show", "first", f"seq:{record.seq}", "--json").out)
    assert list(shown["event"]) == list(MemoryAppended.__struct_fields__)
    assert (shown["event_id"], shown["event"]["reasoning"]) == (record.event_id.hex(), record.event.reasoning)


def test_an_event_that_is_not_there_or_has_no_iteration_is_refused(mage: Command, runs_dir: Path) -> None:
    outcome = mage("show", "seq:99999")
    assert (outcome.code, "its events are 1 to" in outcome.err) == (2, True)
    outcome = mage("show", "seq:1", "--exam", "1")
    assert (outcome.code, "leave out --iteration and --exam" in outcome.err) == (2, True)


def test_the_tail_has_a_line_for_each_of_the_last_records(mage: Command, runs_dir: Path) -> None:
    head = LogReader(runs_dir / "first" / "log").head.seq
    shown = mage("log", "-n", "5")
    assert f"Next: mage-es show seq:{head} first" in shown.err
    lines = shown.out.splitlines()
    assert [int(line.split()[0]) for line in lines] == list(range(head - 4, head + 1))
    assert "run.finished" in lines[3]
    assert len(mage("log").out.splitlines()) == 20
    documents = [json.loads(line) for line in mage("log", "-n", "2", "--json").out.splitlines()]
    assert [document["seq"] for document in documents] == [head - 1, head]
    assert all(len(line) <= 200 for line in mage("log", "-n", str(head)).out.splitlines())


def test_following_a_finished_run_ends_by_itself(mage: Command, runs_dir: Path) -> None:
    outcome = mage("log", "--follow", "-n", "2")
    assert (outcome.code, len(outcome.out.splitlines())) == (0, 2)


def hear_interrupts() -> None:
    """Undo what a shell does to the programs that it starts in the background: they inherit a deaf ear to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_following_goes_on_with_a_writer_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    words = ["log", "first", "-f", "-n", "1", "--json"]
    program = [sys.executable, "-c", "from mage_es.cli import main; main()", *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": ""}
    with Log.create(tmp_path / "runs" / "first" / "log", run="first", clock=clock()) as log:
        log.append([judged(1), judged(2)])
        with subprocess.Popen(
            program,
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=hear_interrupts,
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            rescue = threading.Timer(300, process.kill)  # a line that never comes fails the test, and does not hang it
            rescue.start()
            assert json.loads(process.stdout.readline())["seq"] == 2
            for number in (3, 4, 5):
                log.append([judged(number)])
                assert json.loads(process.stdout.readline())["event"]["question_id"] == f"q{number}"
            process.send_signal(signal.SIGINT)
            assert process.wait() == 130
            assert process.stdout.read() == ""
            said = process.stderr.read()
            rescue.cancel()
    assert "Stopped following" in said
    assert "Traceback" not in said
