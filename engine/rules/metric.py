"""The metric of a task type: which differences between questions matter, learned from the answers of its cases.

Two questions with the same answer differ in what does not matter: the wording, the name, the number. What the cases of
one answer differ in is shrunk, and what is left of two questions is compared.

Rules
    - Relevant component analysis (Shental, Hertz, Weinshall and Pavel 2002) with shrinkage: vectors, less the mean of
      all, are multiplied by the inverse square root of the scatter within answers plus a multiple of the identity.
    - Only where questions share a few answers (`Setting.is_labelled`), and only where it was shown to be better: in
      five folds each case is answered by the nearest case of the others, by this metric and by the cosine, and the
      one-sided exact sign test of these pairs is at most P. Where an answer follows from two things together, which no
      sum of both tells, the cosine stays.
    - It is made of many cases and so is general (rules/own.py); the newest MOST are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.guard import sign_test
from mage_es.engine.seams.embedder import Vector
from mage_es.projections.memory import Index, Memory
from mage_es.projections.slices import Slice

MOST, FOLDS = 600, 5
P = 0.1
SHRINKAGE = 0.1
"""What is added to the scatter, whose mean over all directions is 1. From 0.03 to 0.3 it makes little difference."""
_BLOCK = 4_096
Matrix = NDArray[np.float64]


class Metric(NamedTuple):
    """A linear map of vectors of dimension d: of what they have in each of the r `axes`, `lost` is taken away.

    `mean` is [d], `axes` [r, d] with orthonormal rows, `lost` [r].
    """

    mean: Matrix
    axes: Matrix
    lost: Matrix

    def moved(self, vectors: NDArray[Any]) -> Matrix:
        centred = vectors - self.mean
        moved: Matrix = centred - (centred @ self.axes.T * self.lost) @ self.axes
        return moved

    def similarity(self, rows: Slice, vector: Vector) -> Vector:
        """Return the cosine of a vector and each row of a slice after both were moved."""
        own = self.moved(vector)
        # The map is symmetric: it is applied to the one vector twice, and of the rows only their lengths are kept.
        twice = own - (own @ self.axes.T * self.lost) @ self.axes
        products = rows.vectors @ twice.astype(np.float32) - np.float32(self.mean @ twice)
        return (products / (self._lengths(rows) * _length(own))).astype(np.float32)

    def _lengths(self, rows: Slice) -> NDArray[np.float32]:
        made_by, lengths = rows.computed.get("lengths by metric", (None, None))
        if made_by is not self:
            blocks = range(0, len(rows.ids), _BLOCK)
            lengths = np.concatenate([_length(self.moved(rows.vectors[at : at + _BLOCK])) for at in blocks])
            lengths = lengths.astype(np.float32)
            rows.computed["lengths by metric"] = self, lengths
        return lengths


def metric_of(memory: Memory, task_type: str) -> Metric | None:
    """Return the metric that the cases of a task type show to be better than the cosine, None where none does."""
    slices = [rows for index in get_args(Index) if (rows := memory.slice(index, task_type)).ids]
    if not slices:
        return None
    # With the first of the indexes, as long as no other has changed.
    first, *others = slices
    known = [rows.computed for rows in others]
    made_of, metric = first.computed.get("metric", (None, None))
    if made_of is None or len(made_of) != len(known) or any(a is not b for a, b in zip(made_of, known, strict=True)):
        metric = _of_cases(memory, slices)
        first.computed["metric"] = known, metric
    return metric


def _of_cases(memory: Memory, slices: Sequence[Slice]) -> Metric | None:
    found = (
        (rows.births[row], name, rows.vectors[row])
        for rows in slices
        for row, name in enumerate(rows.ids)
        if rows.kinds[row] != "type_strategy"
    )
    cases = sorted(found, key=itemgetter(0, 1))[-MOST:]
    answers = [memory.row(name).answer.strip().casefold() for _, name, _ in cases]
    if len(set(answers)) < 2:
        return None
    vectors = np.array([vector for _, _, vector in cases], dtype=np.float64)
    return shown(vectors, np.unique(answers, return_inverse=True)[1])


def shown(vectors: Matrix, answers: NDArray[np.intp]) -> Metric | None:
    """Return the metric of vectors, [n, d], whose answers are numbered from 0, where they show that it is better."""
    return learned(vectors, answers) if _is_better(vectors, answers) else None


def learned(vectors: Matrix, answers: NDArray[np.intp]) -> Metric:
    count = np.bincount(answers)
    sums = np.zeros((len(count), vectors.shape[1]))
    np.add.at(sums, answers, vectors)
    within = vectors - (sums / np.maximum(count, 1)[:, None])[answers]
    _, scales, axes = np.linalg.svd(within, full_matrices=False)
    mean_scatter = float((scales**2).sum()) / vectors.shape[1]
    scatter = scales**2 / (mean_scatter or 1.0)
    # A multiple of the root of the inverse, which no cosine depends on: directions without scatter keep their scale.
    return Metric(vectors.mean(axis=0), axes, 1 - np.sqrt(SHRINKAGE / (scatter + SHRINKAGE)))


def _is_better(vectors: Matrix, answers: NDArray[np.intp]) -> bool:
    won = lost = 0
    folds = np.arange(len(answers)) % FOLDS
    for fold in range(min(FOLDS, len(answers))):
        asked, others = folds == fold, folds != fold
        metric = learned(vectors[others], answers[others])
        moved = metric.moved(vectors[others])
        moved /= _length(moved)[:, None]
        by_cosine = answers[others][(vectors[asked] @ vectors[others].T).argmax(axis=1)] == answers[asked]
        by_metric = answers[others][(metric.moved(vectors[asked]) @ moved.T).argmax(axis=1)] == answers[asked]
        won += int((by_metric & ~by_cosine).sum())
        lost += int((by_cosine & ~by_metric).sum())
    return won > lost and sign_test(won, won + lost) <= P


def _length(vectors: Matrix) -> Any:
    return np.maximum(np.linalg.norm(vectors, axis=-1), np.finfo(np.float32).tiny)
