"""Which task type a question is taken to have: its own, or that of its nearest neighbours among known questions.

Rules
    - A type that was made from the gold answer may label evolution questions at most; a held-out question, an
      anchor and a user's own question are typed from their text alone.
    - Where a benchmark's own metadata carries the type, that may be used, and every report says so. A question whose
      metadata lacks it is typed from its text.
    - A type that a benchmark makes by a rule from the question's text alone may be used anywhere as well.
    - Only texts and the types of evolution questions enter the typer; a known question of the same id never counts.
    - A prediction depends on its own text only, not on what else is asked in the same call, and ties go to the
      nearer neighbour, then to the smaller id: similarities are exact integers.

Nearness is the embedder's cosine, less a penalty for another shape: how many numbers, words and sentences a question
has says more about its steps than its subject does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.embedders.exact import GRID, cosines, on_grid
from mage_es.engine.seams.benchmark import Benchmark, Question
from mage_es.engine.seams.embedder import Embedder
from mage_es.events.errors import PrerequisiteError

NEIGHBOURS = 75
"""Most questions that vote; of few known ones only about their square root do, or the commonest type would win."""
_FEWEST = 3
SHAPE_WEIGHT = 4
"""Fourths of a cosine that a doubled number of numbers, words or sentences costs, times the square of it."""
_COUNTED = (re.compile(r"\d[\d.,]*"), re.compile(r"\S+"), re.compile(r"[.?!](?=\s|$)"))
_ROWS = 256
"""Texts compared at once, which bounds the memory of one comparison."""


class TaskTyping:
    """Types questions by metadata, by the input-only typer, or (evolution only) by gold, as configured.

    `source` is what evolution questions are typed from: `metadata`, `input` or `gold`.

    [section 4.1, task types] One input-only typer serves evolution, exam and `ask`. Gold types are for evolution only,
    on demand.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        evolution: Sequence[Question],
        embedder: Embedder,
        *,
        choice: Literal["benchmark", "input", "gold"],
    ) -> None:
        self._has_own = benchmark.task_type_source != "gold" and choice == "benchmark"
        self._gold: Mapping[str, str] = {q.id: q.task_type for q in evolution} if choice == "gold" else {}
        self._typed = [question for question in evolution if question.task_type]
        self._embedder = embedder
        self._typer: Typer | None = None
        has_metadata = self._has_own and benchmark.task_type_source == "metadata"
        self.source = "metadata" if has_metadata else "gold" if choice == "gold" else "input"

    def types_of(self, questions: Sequence[Question]) -> list[str]:
        """Return the task type of each question of the benchmark.

        [section 4, MedQA, task types] A question whose metadata lacks the type gets it from its text, by those that
        have one.
        """
        own = [q.task_type if self._has_own else self._gold.get(q.id, "") for q in questions]
        unknown = [question for question, known in zip(questions, own, strict=True) if not known]
        predicted = iter(self.predict([q.question for q in unknown], ids=[q.id for q in unknown]))
        return [known or next(predicted) for known in own]

    def predict(self, texts: Sequence[str], *, ids: Sequence[str]) -> list[str]:
        """Return the type of each text from the text alone; a known question of the same id does not count."""
        if not texts:
            return []
        if not self._typed:
            raise PrerequisiteError(
                "No evolution question has a task type that others could be typed by: give the benchmark's files that "
                "carry one."
            )
        if self._typer is None:
            self._typer = Typer(self._typed, self._embedder)
        return self._typer.predict(texts, exclude=ids)


class Typer:
    def __init__(self, questions: Sequence[Question], embedder: Embedder) -> None:
        """Embed the known questions. Raises `ValueError` if there are none."""
        if not questions:
            raise ValueError("the task typer needs at least one question whose type is known")
        known = sorted(questions, key=lambda question: question.id)
        self._embedder = embedder
        self._places = {question.id: place for place, question in enumerate(known)}
        self._types = sorted({question.task_type for question in known})
        labels = [self._types.index(question.task_type) for question in known]
        self._labels: NDArray[np.int64] = np.array(labels, dtype=np.int64)
        texts = [question.question for question in known]
        self._vectors = on_grid(embedder.encode(texts))
        self._shapes = _shapes(texts)

    def predict(self, texts: Sequence[str], *, exclude: Sequence[str] = ()) -> list[str]:
        """Return the task type of each text, as shown to the learner.

        `exclude` has the id of the known question that must not vote on each text, "" for none; or it is empty.
        """
        if exclude and len(exclude) != len(texts):
            raise ValueError(f"{len(texts)} texts came with {len(exclude)} ids to exclude; give one for each or none")
        vectors = on_grid(self._embedder.encode(texts))
        shapes = _shapes(texts)
        skipped = [self._places.get(name, -1) for name in exclude] or [-1] * len(texts)
        predicted: list[str] = []
        for start in range(0, len(texts), _ROWS):
            stop = start + _ROWS
            unlike = sum(
                (left[start:stop, None] - right) ** 2 for left, right in zip(shapes, self._shapes, strict=True)
            )
            similar = cosines(vectors[start:stop], self._vectors) - unlike // SHAPE_WEIGHT
            predicted += self._vote(similar, skipped[start:stop])
        return predicted

    def _vote(self, similar: NDArray[np.int64], skipped: Sequence[int]) -> list[str]:
        known = len(self._labels)
        keys = similar * known + np.arange(known - 1, -1, -1)  # one order of (similarity, place) without ties
        lowest = np.iinfo(np.int64).min
        for row, place in enumerate(skipped):
            if place >= 0:
                keys[row, place] = lowest
        count = min(NEIGHBOURS, max(_FEWEST, math.isqrt(known)), known)
        nearest = np.argpartition(keys, known - count, axis=1)[:, known - count :]
        order = np.argsort(-np.take_along_axis(keys, nearest, axis=1), axis=1)
        nearest = np.take_along_axis(nearest, order, axis=1)
        valid = np.take_along_axis(keys, nearest, axis=1) != lowest
        labels = self._labels[nearest]
        votes = np.stack([((labels == label) & valid).sum(axis=1) for label in range(len(self._types))], axis=1)
        ranks = np.stack([_first(labels == label, count) for label in range(len(self._types))], axis=1)
        return [self._types[label] for label in np.argmax(votes * (count + 1) + (count - ranks), axis=1)]


def _shapes(texts: Sequence[str]) -> tuple[NDArray[np.int64], ...]:
    """Return log2(1 + count) of numbers, words and sentences in units of 1/GRID, an array [len(texts)] for each."""
    return tuple(
        np.array([round(GRID * math.log2(1 + len(counted.findall(text)))) for text in texts], dtype=np.int64)
        for counted in _COUNTED
    )


def _first(hits: NDArray[np.bool_], count: int) -> NDArray[np.int64]:
    """Return the place of the first hit in each row, `count` where there is none."""
    first: NDArray[np.int64] = np.where(hits.any(axis=1), np.argmax(hits, axis=1), count)
    return first
