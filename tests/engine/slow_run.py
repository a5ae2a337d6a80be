"""A process for killing: begins the run of a configuration, or resumes it, with a model that keeps calls in flight."""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.players.worlds.wordmath import benchmark
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.resume import resume
from mage_es.events.errors import MageError
from mage_es.events.log import LogReader


class Slow:
    """The analogist, a little later."""

    def __init__(self) -> None:
        self._model = open_model("builtin/analogist", "execution")
        self.name = self._model.name

    async def complete(self, request: Request) -> Completion:
        """Return the analogist's reply after a while."""
        await asyncio.sleep(0.15)
        return await self._model.complete(request)


def has_events(run: Run) -> bool:
    """Return whether an earlier life of this process got as far as an event."""
    try:
        return LogReader(run.log_path).head.seq > 0
    except MageError:
        return False


benchmark.SIZES.update(evolution=1_000, test=200)  # as in tests/few_words.py
runs = Path(sys.argv[1])
run = Run("r", runs / "r")
how: dict[str, Any] = {
    "data_dir": None,
    "runtime": Runtime(workers=8),
    "models": Models(Slow(), open_model("builtin/reference", "guidance")),
}
if has_events(run):
    resume(run, config=None, **how)
else:
    shutil.rmtree(run.path, ignore_errors=True)
    evolve(msgspec.json.decode(sys.argv[2], type=Config), runs_dir=runs, run_id="r", **how)
