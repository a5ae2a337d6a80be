"""The states of a served run at the end of its iterations."""

from threading import Lock

from mage_es.engine.run.directory import Run
from mage_es.engine.run.world import World, state_of
from mage_es.engine.served.frozen import FrozenRun
from mage_es.engine.served.notes import NoteBounds
from mage_es.events.log import LogReader
from mage_es.events.log.markers import Marker

_KEPT = 4
"""How many closed iterations' states are kept."""


class FrozenRuns:
    """The states of a served run's closed iterations, for any number of threads. The newest few are kept; an older one
    is folded from the log again, which takes time."""

    def __init__(self, run: Run, world: World, bounds: NoteBounds) -> None:
        self._run, self._world, self._bounds = run, world, bounds
        self._folding, self._kept = Lock(), dict[int, FrozenRun]()

    def at(self, iteration: int) -> FrozenRun:
        if found := self._kept.get(iteration):
            return found
        with self._folding:
            if iteration not in self._kept:
                name, reader = str(Marker("iteration", iteration)), LogReader(self._run.log_path)
                state = state_of(self._run, reader, until=reader.resolve(name))
                newest = dict(sorted(self._kept.items())[1 - _KEPT :])
                self._kept = {**newest, iteration: FrozenRun(self._run, name, self._world, state, self._bounds)}
            return self._kept[iteration]
