"""Measuring predictions made elsewhere by a benchmark's official metrics, one by one and together.

Rules
    - `strict` is upstream to the letter, including its defects; otherwise metrics measure what upstream intends.
    - A metric that is None is not counted by upstream (a distance that could not be read).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from mage_es.engine.seams.benchmark import Question

PredictionForm = Literal["text", "tokens", "actions", "json"]


class Prediction(NamedTuple):
    """`value` is the reply's text, or a JSON value in upstream's form (a list of answers or actions), None if missing.

    `parts` are further predictions that some benchmarks score, such as `supporting_facts`.
    """

    id: str
    value: object
    parts: Mapping[str, object] = {}

    @property
    def text(self) -> str:
        return "" if self.value is None else text_of(self.value)


def text_of(value: object) -> str:
    """Return a JSON value as text: a text unchanged, anything else as JSON, never as Python's repr."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Measured(NamedTuple):
    """The answer read from a prediction, and its metrics (higher is better unless the name says otherwise)."""

    answer: str
    metrics: Mapping[str, float | None]


def means(measured: Sequence[tuple[Question, Measured]]) -> dict[str, float]:
    """Return the mean of each metric over the predictions that it counts."""
    sums: dict[str, list[float]] = {}
    for _, one in measured:
        for name, value in one.metrics.items():
            counted = sums.setdefault(name, [])
            if value is not None:
                counted.append(value)
    return {name: sum(values) / len(values) for name, values in sums.items() if values}
