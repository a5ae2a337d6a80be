"""What must hold after a crash at any moment: everything acknowledged is there, in order, once, and nothing else is."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from mage_es.events.envelope import Draft
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.log import Log
from mage_es.events.reader import LogReader
from mage_es.events.verify import verify_log
from mage_es.events.vocabulary import AnswerJudged
from tests.events.disks import Crash, ForgetfulDisk
from tests.events.samples import bits, clock, closed, facts, judged, remembered

PATH = Path("/run/log")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mage_es.events.active.ROLL_EVENTS", 6)


def commits(random: Random) -> list[list[Draft]]:
    """Return a history: some commits, each a few facts, an iteration closed now and then."""
    history, number = [], 0
    for _ in range(random.randint(1, 9)):
        size = random.randint(1, 4)
        batch = [random.choice((judged, remembered))(number + k) for k in range(size)]
        if random.random() < 0.3:
            batch.append(closed(number))
        history.append(batch)
        number += size
    return history


class Explorer:
    """Lives through one history with crashes, and knows what must have survived each of them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.disk = ForgetfulDisk(self.random)
        self.disk.make_folder(PATH.parent)
        self.history = commits(self.random)
        self.kept = 0  # facts that were acknowledged, or shown to a reader
        self.done = 0  # commits known to be acknowledged

    def run(self) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.disk.fuse = self.random.randint(0, 120)
            try:
                self.live()
            except Crash:
                self.disk.crash(power=self.random.random() < 0.7)
            else:
                self.disk.fuse = None
            self.look()
        self.disk.fuse = None
        self.live()
        assert self.look() == sum(map(len, self.history))
        assert verify_log(PATH, self.disk).findings == []

    def live(self) -> None:
        """Go on from wherever the last life ended, retrying what may or may not have been recorded."""
        log = self.opened()
        assert self.look() >= self.kept
        for number in range(max(self.done - 1, 0), len(self.history)):
            batch = self.history[number]
            recorded = log.append(batch)
            assert bits(r.event for r in recorded) == bits(d.event for d in batch)
            self.done = max(self.done, number + 1)
            self.kept = max(self.kept, sum(map(len, self.history[: self.done])))
            if self.random.random() < 0.2:
                assert self.look() == self.kept
        log.close()

    def opened(self) -> Log:
        try:
            return Log.open(PATH, clock=clock(), fs=self.disk)
        except UsageError:
            assert self.kept == 0, "a log that was written to is no longer one"
            return Log.create(PATH, run="r1", clock=clock(), fs=self.disk)

    def look(self) -> int:
        """Read the log as it is, and return how many facts it shows; none of them may ever go away again.

        Before recovery, that may be fewer than were acknowledged: nobody knows then whether the last frame was synced.
        """
        try:
            reader = LogReader(PATH, self.disk)
        except (UsageError, FileNotFoundError):
            assert self.kept == 0, "a log that was written to is no longer one"
            return 0
        seen = facts(reader.records())
        wanted = [draft for batch in self.history for draft in batch]
        assert bits(r.event for r in seen) == bits(d.event for d in wanted[: len(seen)])
        self.kept = max(self.kept, len(seen))
        return len(seen)


@pytest.mark.parametrize("block", range(6))
def test_nothing_acknowledged_or_shown_is_lost_in_crashes_and_losses_of_power(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        Explorer(seed).run()


@pytest.mark.parametrize(
    ("kept_waiting", "seed"), [(".wal", 0), (".tmp", 0), ("seg", 0), ("wal", 1)], ids=lambda value: str(value)
)
def test_a_disk_that_only_pretends_to_sync_is_found_out(kept_waiting: str, seed: int) -> None:
    explorer = Explorer(seed)
    explorer.disk.ignores_sync = lambda what: what == kept_waiting
    with pytest.raises((AssertionError, LogDamaged)):
        explorer.run()


CHILD = """
import sys
from pathlib import Path
import mage_es.events.active
from mage_es.events.log import Log
from tests.events.samples import clock, judged
mage_es.events.active.ROLL_EVENTS = 50
path = Path(sys.argv[1])
log = Log.open(path, clock=clock()) if path.exists() else Log.create(path, run="r1", clock=clock())
for number in range(int(sys.argv[2]), 1_000_000):
    log.append([judged(3 * number + k) for k in range(3)])
    print(number, flush=True)
"""


def test_a_process_that_is_killed_again_and_again_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    path, random, acknowledged = tmp_path / "log", Random(7), 0
    for _ in range(6):
        command = [sys.executable, "-c", CHILD, str(path), str(acknowledged)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
            assert child.stdout is not None
            for _ in range(random.randint(1, 60)):
                acknowledged = int(child.stdout.readline()) + 1
            time.sleep(random.random() / 100)
            child.send_signal(signal.SIGKILL)
            acknowledged += len(child.stdout.read().splitlines())
        with Log.open(path, clock=clock()):
            events = [event for _, event in LogReader(path).events({AnswerJudged: ("question_id",)})]
        questions = [event.question_id for event in events if isinstance(event, AnswerJudged)]
        assert questions == [f"q{number}" for number in range(len(questions))]
        assert len(questions) in (3 * acknowledged, 3 * acknowledged + 3)
        acknowledged = len(questions) // 3
    assert verify_log(path).findings == []
