"""Floors: how near a memory must be to a question to be shown with it; served/floors.py measures them."""

from collections.abc import Mapping
from typing import NamedTuple


class Floors(NamedTuple):
    """The least cosine of a memory of a case by task type, and for any other type; 0 means no floor."""

    by_type: Mapping[str, float]
    other: float

    def of(self, task_type: str) -> float:
        return self.by_type.get(task_type, self.other)


NO_FLOORS = Floors({}, 0.0)
