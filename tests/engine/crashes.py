"""Whole runs on a disk that forgets, refuses and fails: crashed anywhere, resumed, crashed again, until they end.

    python -m tests.engine.crashes --histories 2000 --processes 2

The seeds are the numbers from 0 on. A violation is printed with its seed, and the exit code is 1.

Rules: what a violation is
    - However often a run is ended, and whatever the disk lost, it ends with the digests of one that nobody disturbed.
    - A call whose reply is in the log is not made again.
    - In the end the log's verification finds nothing, and the theorems hold of it: replay, growth, ratchet, no leak.
The folds and tables that may be deleted are: after a crash they may be gone, torn, or ahead of what the disk kept.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

from mage_es.engine.auditing.theorems.growth import check_growth
from mage_es.engine.auditing.theorems.leaks import check_leaks
from mage_es.engine.auditing.theorems.ratchet import check_ratchet
from mage_es.engine.auditing.theorems.replay import check_replay
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.players.worlds.wordmath import benchmark as wordmath
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.resume import resume
from mage_es.events.care import verify_log
from mage_es.events.errors import Interrupted, PrerequisiteError, UsageError, WriterPoisoned
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import IterationClosed, ModelCalled
from tests.events.disks import Crash, ForgetfulDisk

CONFIG = Config(benchmark="wordmath", seed=7, iterations=2, pool=12, held_out=8, anchors=6)
QUESTIONS = {"evolution": 120, "test": 30}
"""Enough for the small run, and quickly generated."""
_ROLL = 40
_EFFECTS = (30, 150, 400)
"""Within so many effects a life ends, if it is to end early; a whole run has about four hundred."""
_BLOCK = 10
_REPLIES: dict[tuple[str, str], Completion] = {}
"""By model and request: the same in every history."""


class Violation(NamedTuple):
    """A history that broke a rule."""

    seed: int
    problem: str


class Remembering:
    """A model that replies at once what the real one replied to the same request, in an order that chance decides."""

    def __init__(self, model: Model, random: Random, made: Counter[str]) -> None:
        self.name, self._model, self._random, self._made = model.name, model, random, made

    async def complete(self, request: Request) -> Completion:
        """Return the reply, a little later than other calls or a little earlier."""
        self._made[request.sha256] += 1
        for _ in range(self._random.randrange(6)):
            await asyncio.sleep(0)
        key = self.name, request.sha256
        if key not in _REPLIES:
            _REPLIES[key] = await self._model.complete(request)
        return _REPLIES[key]


class History:
    """One run, through as many lives as it takes; `lives` counts them."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = Random(seed)
        self.run = Run("r", folder / "r")
        self.disk = ForgetfulDisk(self.random)
        self.made: Counter[str] = Counter()
        self.lives = 0

    def live_through(self) -> None:
        """Live. Raises `AssertionError`, or whatever error the engine meets where it should meet none."""
        with patch("mage_es.events.wal.active.ROLL_EVENTS", _ROLL):
            for _ in range(self.random.randint(1, 4)):
                self._plan()
                with self._ends():
                    self._live()
                self._crash()
            self.made.clear()
            before = self._recorded()
            self._live()
            self._judge(before)

    def _plan(self) -> None:
        """Decide what goes wrong in the life that begins."""
        chance = self.random.random
        self.disk.fuse = self._some_effect() if chance() < 0.7 else None
        self.disk.full_after = self._some_effect() // 2 if chance() < 0.2 else None
        self.disk.sync_fails_after = self._some_effect() // 3 if chance() < 0.2 else None
        self.disk.short_writes = chance() < 0.3

    def _some_effect(self) -> int:
        return self.random.randint(0, self.random.choice(_EFFECTS))

    @contextmanager
    def _ends(self) -> Iterator[None]:
        """Let a life end by a crash, by a disk that refuses, or because somebody stopped it."""
        disturbed = self.disk.full_after is not None or self.disk.sync_fails_after is not None
        try:
            yield
        except (Crash, Interrupted):
            return
        except (WriterPoisoned, PrerequisiteError) as error:
            assert disturbed, f"a sound disk was called unsound: {error}"

    def _live(self) -> None:
        """Begin the run, or go on with it from wherever the last life ended."""
        self.lives += 1
        has_begun = self._has_begun()
        how: dict[str, Any] = {
            "data_dir": None,
            "runtime": Runtime(workers=self.random.choice((1, 3, 8)), stop=self._stop()),
            "models": Models(self._model("execution"), self._model("guidance")),
            "fs": self.disk,
        }
        if has_begun:
            resume(self.run, config=None, **how)
        else:
            shutil.rmtree(self.run.path, ignore_errors=True)
            evolve(CONFIG, runs_dir=self.run.path.parent, run_id=self.run.id, **how)

    def _model(self, tier: str) -> Remembering:
        model = open_model("builtin/analogist" if tier == "execution" else "builtin/reference", tier)
        return Remembering(model, self.random, self.made)

    def _stop(self) -> Any:
        """Return what asks a life to stop: now and then, and never where nothing else would end it."""
        left = self.random.randint(0, 60) if self.disk.fuse is not None and self.random.random() < 0.3 else 10**9
        asked = iter(range(left))
        return lambda: next(asked, None) is None

    def _has_begun(self) -> bool:
        """Return whether there is an event to go on from; a log without any is deleted, as its user is told to."""
        try:
            head = LogReader(self.run.log_path, self.disk).head
        except UsageError:  # nothing that looks like a log; what there is of it is no obstacle
            return False
        if head.seq == 0:
            emptied = ForgetfulDisk(self.random)
            for trouble in ("fuse", "full_after", "sync_fails_after", "short_writes"):
                setattr(emptied, trouble, getattr(self.disk, trouble))
            self.disk = emptied
        return head.seq > 0

    def _crash(self) -> None:
        self.disk.crash(power=self.random.random() < 0.7)
        kept = sorted(self.run.snapshots_path.glob("*")) if self.run.snapshots_path.is_dir() else []
        if kept and self.random.random() < 0.4:
            torn = kept[-1].read_bytes()
            kept[-1].write_bytes(torn[: self.random.randint(0, len(torn))])
        if self.random.random() < 0.2:
            shutil.rmtree(self.run.snapshots_path, ignore_errors=True)

    # ------------------------------------------------------------ judging

    def _recorded(self) -> Counter[str]:
        """Return how often each request has a reply in the log."""
        if not self._has_begun():
            return Counter()
        Log.open(self.run.log_path, clock=clock, fs=self.disk).close()  # a reader alone shows less than is recovered
        calls = LogReader(self.run.log_path, self.disk).of(ModelCalled)
        return Counter(call.request_sha256 for call in calls)

    def _judge(self, before: Counter[str]) -> None:
        reader = LogReader(self.run.log_path, self.disk)
        assert digests_of(reader) == undisturbed(), "the run ends with other digests"
        assert self.made == self._recorded() - before, "a call that is in the log was made again, or one is not in it"
        calls = Counter(
            (r.iteration, r.phase, r.event.tier, r.event.purpose, r.event.about, r.event.attempt)
            for r in reader.records({ModelCalled})
            if isinstance(r.event, ModelCalled)
        )
        assert set(calls.values()) == {1}, "a call is in the log twice"
        assert verify_log(self.run.log_path, self.disk).findings == [], "the log is damaged"
        checks = [
            check_replay(reader, self.run.snapshots_path),
            check_growth(reader),
            check_ratchet(reader, CONFIG),
            check_leaks(reader),
        ]
        assert all(check.ok for check in checks), [check.detail for check in checks if not check.ok]


def digests_of(reader: LogReader) -> list[tuple[int, dict[str, str]]]:
    """Return the digests of every closed iteration."""
    closed = reader.of(IterationClosed)
    return [
        (event.iteration, {digest.projection: digest.value for digest in event.digests})
        for event in closed
        if isinstance(event, IterationClosed)
    ]


@cache
def undisturbed() -> list[tuple[int, dict[str, str]]]:
    """Return the digests of a run that nobody disturbed."""
    with tempfile.TemporaryDirectory() as folder:
        history = History(0, Path(folder))
        history._live()
        return digests_of(LogReader(history.run.log_path, history.disk))


def explore(seeds: Sequence[int]) -> tuple[int, list[Violation]]:
    """Live through the histories of some seeds; return the number of lives and the violations."""
    lives, violations = 0, []
    with patch.dict(wordmath.SIZES, QUESTIONS):
        for seed in seeds:
            with tempfile.TemporaryDirectory() as folder:
                history = History(seed, Path(folder))
                try:
                    history.live_through()
                except (Exception, Crash) as error:
                    violations.append(Violation(seed, f"{type(error).__name__}: {error}"))
                lives += history.lives
    return lives, violations


def main() -> bool:
    """Explore as the command line says; return whether there was no violation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    last, began, lives, found = options.first + options.histories, time.monotonic(), 0, list[Violation]()
    blocks = [range(start, min(start + _BLOCK, last)) for start in range(options.first, last, _BLOCK)]
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        for more, violations in pool.map(explore, blocks):
            lives += more
            for violation in violations:
                print(f"seed {violation.seed}: {violation.problem}", flush=True)
            found += violations
    seconds = time.monotonic() - began
    print(f"{options.histories} histories, {lives} lives, {len(found)} violations, {seconds:.0f} s")
    return not found


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
