"""Measuring predictions made elsewhere by a benchmark's official metrics, one by one and together.

Rules
    - `strict` is upstream to the letter, including its defects; otherwise metrics measure what upstream intends.
    - A metric that is None is not counted by upstream (a distance that could not be read).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

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


def problem_with(prediction: Prediction, form: PredictionForm) -> str:
    """Return what is wrong with the types of a prediction, "" if nothing; a missing one (null) is always fine."""
    words, is_right = _FORMS[form]
    if prediction.value is not None and not is_right(prediction.value):
        return f"prediction: expected {words}, found {_shortened(prediction.value)}"
    for name, (words, kinds) in _PARTS.items():
        if not isinstance(part := prediction.parts.get(name), (*kinds, type(None))):
            return f"{name}: expected {words}, found {_shortened(part)}"
    return ""


def _shortened(value: object) -> str:
    shown = text_of(value)
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(each) is int for each in value)


_LONGEST_SHOWN = 60
_FORMS: Mapping[PredictionForm, tuple[str, Callable[[object], bool]]] = {
    "text": ("a text", _is_text),
    "tokens": ("a text or a list of texts", lambda value: _is_text(value) or _are_texts(value)),
    "actions": (
        "a text, a list of texts or a list of whole numbers",
        lambda value: _is_text(value) or _are_texts(value) or _are_numbers(value),
    ),
    "json": ("a text, a number or a list", lambda value: not isinstance(value, bool | dict)),
}
_PARTS: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "supporting_facts": ("a list", (list,)),
    "sp": ("a list", (list,)),
    "program": ("a text or a list of texts", (str, list)),
    "is_correct": ("true or false", (bool,)),
}
"""Other fields of predictions that benchmarks read."""


class Measured(NamedTuple):
    """The answer read from a prediction, and its metrics (higher is better unless the name says so)."""

    answer: str
    metrics: Mapping[str, float | None]


class Measures(Protocol):
    """Additional methods of a benchmark that can measure predictions made elsewhere."""

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
