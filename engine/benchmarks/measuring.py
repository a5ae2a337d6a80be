"""Measuring predictions made elsewhere by a benchmark's official metrics, one by one and together.

Rules
    - `strict` is upstream to the letter, including its defects; otherwise metrics measure what upstream means.
    - A metric that is None is not counted by upstream (a distance that could not be read).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from mage_es.engine.seams.benchmark import Question


class Prediction(NamedTuple):
    """`value` is the reply's text, or a JSON value in upstream's form (a list of answers or actions), None if missing.

    `parts` are further predictions that some benchmarks score, such as `supporting_facts`.
    """

    id: str
    value: object
    parts: Mapping[str, object] = {}

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else "" if self.value is None else str(self.value)


class Measured(NamedTuple):
    """The answer read from a prediction, and its metrics (higher is better unless the name says so)."""

    answer: str
    metrics: Mapping[str, float | None]


class Measures(Protocol):
    """The further methods of a benchmark that can measure predictions made elsewhere."""

    def measure(self, question: Question, prediction: Prediction, *, strict: bool) -> Measured:
        """Never raises: what cannot be read is wrong."""
        ...

    def total(self, measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]: ...


def means(measured: Sequence[tuple[Question, Measured]]) -> dict[str, float]:
    """Return the mean of each metric over the predictions that it counts."""
    sums: dict[str, list[float]] = {}
    for _, one in measured:
        for name, value in one.metrics.items():
            counted = sums.setdefault(name, [])
            if value is not None:
                counted.append(value)
    return {name: sum(values) / len(values) for name, values in sums.items() if values}
