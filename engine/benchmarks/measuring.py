"""Measuring predictions made anywhere: what a benchmark's official metrics say of them, one by one and together.

Rules
    - `strict` is upstream to the letter, its defects included; without it what upstream means, and more than one form
      of an answer is understood.
    - None in the place of a metric: upstream does not count this one (a distance that could not be read). A prediction
      that is missing has the value None, whose text is empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from mage_es.engine.benchmarks.protocol import Question


class Prediction(NamedTuple):
    """What somebody predicts for a question.

    `value` is the reply's text, or the JSON value that upstream's predictions are (a list of answers, of actions).
    `parts` are further predictions that some benchmarks score, such as `supporting_facts`.
    """

    id: str
    value: object
    parts: Mapping[str, object] = {}

    @property
    def text(self) -> str:
        """Return the value as text."""
        return self.value if isinstance(self.value, str) else "" if self.value is None else str(self.value)


class Measured(NamedTuple):
    """The answer that was read from a prediction, and each metric of it (higher is better unless its name says so)."""

    answer: str
    metrics: Mapping[str, float | None]


class Measures(Protocol):
    """The further methods of a benchmark whose predictions can be measured."""

    def measure(self, question: Question, prediction: Prediction, *, strict: bool) -> Measured:
        """Return the metrics of a prediction. Never raises: what cannot be read is wrong."""
        ...

    def total(self, measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]:
        """Return the metrics of a whole set of predictions, as upstream sums them up."""
        ...


def means(measured: Sequence[tuple[Question, Measured]]) -> dict[str, float]:
    """Return the mean of each metric over the predictions that it counts, in order of first appearance."""
    sums: dict[str, list[float]] = {}
    for _, one in measured:
        for name, value in one.metrics.items():
            counted = sums.setdefault(name, [])
            if value is not None:
                counted.append(value)
    return {name: sum(values) / len(values) for name, values in sums.items() if values}
