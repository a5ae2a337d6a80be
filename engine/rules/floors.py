"""Floors: how near a memory must be to a question to be put before it, and how that is measured.

Rules
    - A memory of a case that is farther from a question than the floor of its task type is about something else, and is
      left out, each by itself: one that is near lets no other in. A question to which none is near gets nothing.
    - Usual is what 95 of 100 memories of its task type have to the nearest of another question (of all types together,
      where the type has too few); a fixed cosine would be another one for every embedder.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from mage_es.engine.rules.retrieval import nearest_of_others
from mage_es.projections.memory import Memory

_SAMPLE = 256
"""Memories of a type that are asked for their nearest: the share below the floor is then 5 % +- 1.4 (one sigma)."""
_ENOUGH = 20
_FAR = 0.05


class Floors(NamedTuple):
    """By task type the least cosine of a memory of a case, and that of any other type; 0 is none."""

    by_type: Mapping[str, float]
    other: float

    def of(self, task_type: str) -> float:
        return self.by_type.get(task_type, self.other)


NO_FLOORS = Floors({}, 0.0)


def floors_of(memory: Memory, task_types: Collection[str]) -> Floors:
    """Measure how near the memories of a state are to each other, on a sample of each type's."""
    nearest = {name: nearest_of_others(memory, name, _SAMPLE) for name in sorted(task_types)}
    by_type = {name: _floor(found) for name, found in nearest.items() if len(found) >= _ENOUGH}
    return Floors(by_type, _floor([each for found in nearest.values() for each in found]))


def is_far(nearest: float, floor: float) -> bool:
    return nearest < floor and floor > 0


def _floor(nearest: Collection[float]) -> float:
    return max(0.0, float(np.quantile([*nearest], _FAR))) if len(nearest) >= _ENOUGH else 0.0
