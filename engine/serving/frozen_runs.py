"""The states of a served run at the end of its iterations."""

from contextlib import suppress
from threading import Lock

from mage_es.engine.run.directory import Run
from mage_es.engine.run.world import World
from mage_es.engine.served.frozen import FrozenRun, in_use_now
from mage_es.engine.served.notes import NoteBounds
from mage_es.events.errors import MageError
from mage_es.events.log import LogReader
from mage_es.events.log.markers import Marker

_KEPT = 4
"""How many closed iterations' states are kept."""


class FrozenRuns:
    """The states of a served run's closed iterations, without what was taken out of use since, for any number of
    threads. The newest few are kept; an older one is folded from the log again, which takes time."""

    def __init__(self, run: Run, world: World, bounds: NoteBounds) -> None:
        self._run, self._world, self._bounds = run, world, bounds
        self._folding, self._kept, self._renewed_at = Lock(), dict[int, FrozenRun](), 0

    def at(self, iteration: int) -> FrozenRun:
        if found := self._kept.get(iteration):
            return found
        with self._folding:
            if iteration not in self._kept:
                newest = dict(sorted(self._kept.items())[1 - _KEPT :])
                self._kept = {**newest, iteration: self._folded(iteration)}
            return self._kept[iteration]

    def renew(self) -> None:
        """Apply later quarantines and releases to the states that are kept. Requests do not wait: they get the old
        states until this returns."""
        due = LogReader(self._run.log_path).head.seq
        with self._folding:
            if self._renewed_at >= due:  # another renewal, which began later, has seen all of it
                return
            seen = LogReader(self._run.log_path).head.seq
            renewed = {iteration: self._folded(iteration) for iteration in self._kept}
            with suppress(MageError):  # without an embedder no question can be looked up anyway
                for each in renewed.values():
                    each.warm()
            self._kept, self._renewed_at = renewed, seen

    def _folded(self, iteration: int) -> FrozenRun:
        name, reader = str(Marker("iteration", iteration)), LogReader(self._run.log_path)
        state = in_use_now(self._run, reader, reader.resolve(name))
        return FrozenRun(self._run, name, self._world, state, self._bounds)
