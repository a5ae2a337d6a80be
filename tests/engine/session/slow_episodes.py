"""A process for killing: begins or resumes the small run of episodes, slowly unless told to be fast."""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.players.worlds.workshop import benchmark
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.resume import resume
from mage_es.events.errors import MageError
from mage_es.events.log import LogReader


class Slow:
    """The copier, a little later."""

    def __init__(self, delay: float) -> None:
        self._model, self._delay = open_model("builtin/copier", "execution"), delay
        self.name = self._model.name

    async def complete(self, request: Request) -> Completion:
        """Return the copier's reply after a while."""
        await asyncio.sleep(self._delay)
        return await self._model.complete(request)


def has_events(run: Run) -> bool:
    """Return whether an earlier life of this process got as far as an event."""
    try:
        return LogReader(run.log_path).head.seq > 0
    except MageError:
        return False


benchmark.SIZES.update(evolution=120, test=40)  # as in tests/few_words.py
runs = Path(sys.argv[1])
run = Run("r", runs / "r")
delay = 0.0 if sys.argv[3:] == ["fast"] else 0.05
how: dict[str, Any] = {
    "data_dir": None,
    "runtime": Runtime(workers=8),
    "models": Models(Slow(delay), open_model("builtin/reference", "guidance")),
}
if has_events(run):
    resume(run, config=None, **how)
else:
    shutil.rmtree(run.path, ignore_errors=True)
    evolve(msgspec.json.decode(sys.argv[2], type=Config), runs_dir=runs, run_id="r", **how)
