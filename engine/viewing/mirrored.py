"""The runs that a team backs up under one prefix of a bucket, mirrored in a folder that is kept up to date."""

import threading
from collections.abc import Callable
from pathlib import Path

from mage_es.engine.run.directory import Run, list_runs
from mage_es.engine.seams.clock import SYSTEM_CLOCK, Clock
from mage_es.engine.seams.plugins import verb
from mage_es.events.care.buckets import SCHEME
from mage_es.events.errors import MageError

EVERY_S = 60
"""Seconds after which the bucket is looked at again."""


def is_mirrored(place: str) -> bool:
    """Return whether a place is a bucket or a folder of backups, and not a run."""
    return place.startswith(SCHEME) or any(Path(place).glob("*/whole"))


class Mirrored:
    """Lists the runs in a folder, after restoring what was backed up since. `say` gets what was restored or left out,
    and why a look at the bucket failed; then the runs are listed as they are.

    Raises what `mirror` raises if the first look fails.
    """

    def __init__(self, source: str, runs_dir: Path, *, say: Callable[[str], None], clock: Clock = SYSTEM_CLOCK) -> None:
        self._source, self._runs_dir, self._say, self._clock = source, runs_dir, say, clock
        self._lock, self._said, self._next = threading.Lock(), set[str](), 0.0
        self._look()

    def __call__(self) -> list[Run]:
        # While one request waits for the bucket, all others get what is already here.
        if self._lock.acquire(blocking=False):
            try:
                if self._clock.now() >= self._next:
                    self._look()
            except (MageError, OSError) as error:
                self._say_once({f"{self._source} could not be looked at, so its runs are shown as they were: {error}"})
            finally:
                self._lock.release()
        return list_runs(self._runs_dir)

    def _look(self) -> None:
        try:
            found = verb("mirror")(self._source, runs_dir=self._runs_dir)
        finally:
            self._next = self._clock.now() + EVERY_S
        if names := ", ".join((*found.restored, *found.replaced)):
            self._say(f"Restored from {found.place}: {names}.")
        self._say_once({f"{name} is left out: {why}" for name, why in found.left_out.items()})

    def _say_once(self, messages: set[str]) -> None:
        """Report only what the last look did not already report."""
        for message in sorted(messages - self._said):
            self._say(message)
        self._said = messages
