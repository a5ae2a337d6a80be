"""A process that serves is killed in the middle of its traffic, and the next one gives every turn what it had."""

import subprocess
import sys
from itertools import islice

import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.run.directory import Run
from mage_es.engine.serving.live import LiveRun
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import InferenceClosed, InferenceOpened, ServingStarted


@pytest.mark.slow
def test_after_kill_9_all_that_was_acknowledged_is_there_and_each_turn_gets_its_bytes_again(parent: Run) -> None:
    acknowledged: dict[str, str] = {}
    command = [sys.executable, "-m", "tests.engine.serving.talker", str(parent.path)]
    for turns in (30, 45):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in islice(process.stdout, turns):
                turn, note = line.split()
                # A turn that the process before had is given what that one gave, though each draws arms of its own.
                assert acknowledged.setdefault(turn, note) == note
            process.kill()
    served = Run(f"{parent.id}-served", parent.path.parent / f"{parent.id}-served")
    live = LiveRun.open(served)
    try:
        recorded = {event.turn_sha256: event for event in LogReader(served.log_path).of(InferenceOpened)}
        assert acknowledged.keys() <= recorded.keys() and live.process == 3
        notes = {turn: live.inference(recorded[turn].inference, key="k") for turn in list(acknowledged)[::20]}
        assert all(
            (report.opened.note_sha256 if report.was_seen else "none") == acknowledged[turn] and report.note_verified
            for turn, report in notes.items()
        )
    finally:
        live.close()
    opened = {event.inference for event in LogReader(served.log_path).of(InferenceOpened)}
    ends = {event.inference: event.outcome for event in LogReader(served.log_path).of(InferenceClosed)}
    assert ends.keys() == opened and {*ends.values()} <= {"answered", "cut"}
    assert len(list(LogReader(served.log_path).of(ServingStarted))) == 3 and verify(served).ok
