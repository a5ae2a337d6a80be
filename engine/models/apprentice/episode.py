"""What this episode has shown so far: what was seen where, what did nothing, what has been had."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from mage_es.engine.models.apprentice.prompt_reading import Moment, Step, names

_SEEN = re.compile(r"you see ([a-z ,]+?) here")
_GAINED = re.compile(r"^you (?:collect|build|make)\b")
_MOVING = "go to "


class Episode:
    """The steps so far, read once, and the moment that they have led to."""

    def __init__(self, steps: Sequence[Step], moment: Moment) -> None:
        self.moment = moment
        self.seen: dict[str, frozenset[str]] = {}
        """What was in sight at each place that was visited."""
        self.had: set[str] = set()
        """Things that some step of this episode gave."""
        self.failures: Counter[str] = Counter()
        self._stale: set[tuple[str, str]] = set()
        place = "" if any(step.action.startswith(_MOVING) for step in steps) else moment.place
        for step in steps:
            place = self._note(step, place)
        self.seen[moment.place] = moment.seen

    def _note(self, step: Step, place: str) -> str:
        effect = step.effect.lower()
        if step.action.startswith(_MOVING):
            place = step.action.removeprefix(_MOVING)
            found = _SEEN.search(effect)
            self.seen[place] = frozenset(names(found.group(1))) if found else frozenset()
        elif _GAINED.match(effect):
            self.had.add(step.action.rpartition(" ")[2])
            self._stale.clear()
        else:
            self.failures[step.action] += 1
            self._stale.add((step.action, place))
        return place

    def is_stale(self, action: str) -> bool:
        """Return whether an action did nothing here, and nothing was gained since."""
        return (action, self.moment.place) in self._stale

    def carries(self, thing: str) -> int:
        """Return how much of a thing is carried."""
        return self.moment.carried[thing]

    @property
    def built(self) -> Mapping[str, str]:
        """Return which station stands where."""
        return self.moment.built
