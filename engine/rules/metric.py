"""The metric of a task type: which differences between questions matter, learned from the answers of its cases.

Two questions with the same answer differ in what does not matter: the wording, the name, the number. What of a question
its answer does not tell is shrunk, and what is left of two questions is compared.

Rules
    - Relevant component analysis (Shental, Hertz, Weinshall and Pavel 2002) with shrinkage: vectors, less the mean of
      all, are multiplied by the inverse square root of the scatter within answers plus a multiple of the identity.
    - Within answers is what a regression of the vectors on the answers leaves. An answer is itself, and each of its
      words that another answer has: a code of three parts is near to one that shares two of them. Of labels that is the
      scatter around the means of the labels, as in the paper.
    - Only where an answer is a label or short and without reasoning, and only where it was shown to be better: in five
      folds each case is compared with the nearest case of the others, by this metric and by the cosine, won where the
      answer of the one has more in common with its own (Jaccard), of equals where those of the SHOWN nearest have, and
      the one-sided exact sign test is at most P. Where an answer follows from two things together, which no sum of both
      tells, the cosine stays.
    - It is made of many cases and so is general (rules/own.py); the newest MOST are asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.guard import sign_test
from mage_es.engine.seams.embedder import Vector
from mage_es.projections.memory import Index, Memory
from mage_es.projections.slices import Slice

MOST, FOLDS, SHOWN = 600, 5, 5
P = 0.1
SHRINKAGE = 0.1
"""What is added to the scatter, whose mean over all directions is 1. From 0.03 to 0.3 it makes little difference."""
_BLOCK = 4_096
_WORD = re.compile(r"[^\W_]+")
_Floats = NDArray[np.float64]


class Metric(NamedTuple):
    """A linear map of vectors of dimension d: of what they have in each of the r `axes`, `lost` is taken away.

    `mean` is [d], `axes` [r, d] with orthonormal rows, `lost` [r].
    """

    mean: _Floats
    axes: _Floats
    lost: _Floats

    def moved(self, vectors: NDArray[Any]) -> _Floats:
        centred = vectors - self.mean
        moved: _Floats = centred - (centred @ self.axes.T * self.lost) @ self.axes
        return moved

    def similarity(self, rows: Slice, vector: Vector) -> Vector:
        """Return the cosine of a vector and each row of a slice after both were moved."""
        own = self.moved(vector)
        # The map is symmetric: it is applied to the one vector twice, and of the rows only their lengths are kept.
        twice = own - (own @ self.axes.T * self.lost) @ self.axes
        products = rows.vectors @ twice.astype(np.float32) - np.float32(self.mean @ twice)
        similarity: Vector = (products / (self._lengths(rows) * _length(own))).astype(np.float32)
        return similarity

    def _lengths(self, rows: Slice) -> NDArray[np.float32]:
        made_by, known = rows.computed.get("lengths by metric", (None, None))
        if made_by is not self:
            blocks = range(0, len(rows.ids), _BLOCK)
            known = np.concatenate([_length(self.moved(rows.vectors[at : at + _BLOCK])) for at in blocks])
            known = known.astype(np.float32)
            rows.computed["lengths by metric"] = self, known
        lengths: NDArray[np.float32] = known
        return lengths


def metric_of(memory: Memory, task_type: str) -> Metric | None:
    """Return the metric that the cases of a task type show to be better than the cosine, None where none does."""
    slices = [rows for index in get_args(Index) if (rows := memory.slice(index, task_type)).ids]
    if not slices:
        return None
    # With the first of the indexes, as long as no other has changed.
    first, *others = slices
    known = [rows.computed for rows in others]
    made_of, found = first.computed.get("metric", (None, None))
    if made_of is None or len(made_of) != len(known) or any(a is not b for a, b in zip(made_of, known, strict=True)):
        found = _of_cases(memory, slices)
        first.computed["metric"] = known, found
    metric: Metric | None = found
    return metric


def _of_cases(memory: Memory, slices: Sequence[Slice]) -> Metric | None:
    found = (
        (rows.births[row], name, rows.vectors[row])
        for rows in slices
        for row, name in enumerate(rows.ids)
        if rows.kinds[row] != "type_strategy"
    )
    cases = sorted(found, key=itemgetter(0, 1))[-MOST:]
    answers = [memory.row(name).answer for _, name, _ in cases]
    return shown(np.array([vector for _, _, vector in cases], dtype=np.float64), answers)


def shown(vectors: _Floats, answers: Sequence[str]) -> Metric | None:
    """Return the metric of vectors, [n, d], and their n answers, where these show that it is better."""
    features = [_features(answer) for answer in answers]
    return _learned(vectors, features) if len({*answers}) > 1 and _is_better(vectors, features) else None


def _features(answer: str) -> frozenset[str]:
    answer = answer.strip().casefold()
    return frozenset((f"={answer}", *_WORD.findall(answer)))


def _learned(vectors: _Floats, features: Sequence[frozenset[str]]) -> Metric:
    mean = vectors.mean(axis=0)
    within = vectors - mean
    count = Counter(chain.from_iterable(features))
    if shared := sorted(name for name, times in count.items() if 1 < times < len(features)):
        has = np.array([[name in own for name in shared] for own in features], dtype=np.float64)
        has -= has.mean(axis=0)
        products = has @ has.T
        within -= products @ np.linalg.solve(products + np.eye(len(products)), within)
    _, scales, axes = np.linalg.svd(within, full_matrices=False)
    mean_scatter = float((scales**2).sum()) / vectors.shape[1]
    scatter = scales**2 / (mean_scatter or 1.0)
    # A multiple of the root of the inverse, which no cosine depends on: directions without scatter keep their scale.
    return Metric(mean, axes, 1 - np.sqrt(SHRINKAGE / (scatter + SHRINKAGE)))


def _is_better(vectors: _Floats, features: Sequence[frozenset[str]]) -> bool:
    won = lost = 0
    folds = np.arange(len(features)) % FOLDS
    for fold in range(min(FOLDS, len(features))):
        asked, others = (np.flatnonzero(which) for which in (folds == fold, folds != fold))
        metric = _learned(vectors[others], [features[int(place)] for place in others])
        moved = metric.moved(vectors[others])
        moved /= _length(moved)[:, None]
        by_metric = (metric.moved(vectors[asked]) @ moved.T).argsort(axis=1)[:, ::-1][:, :SHOWN]
        by_cosine = (vectors[asked] @ vectors[others].T).argsort(axis=1)[:, ::-1][:, :SHOWN]
        for own, *found in zip(asked, others[by_metric], others[by_cosine], strict=True):
            ours, theirs = ([_common(features[int(own)], features[int(place)]) for place in each] for each in found)
            more, less = ((each[0], sum(each)) for each in (ours, theirs))
            won, lost = won + (more > less), lost + (more < less)
    return won > lost and sign_test(won, won + lost) <= P


def _common(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def _length(vectors: _Floats) -> Any:
    return np.maximum(np.linalg.norm(vectors, axis=-1), np.finfo(np.float32).tiny)
