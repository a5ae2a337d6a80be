"""The metric of cases: which differences between questions matter, learned from the answers of its cases.

Two questions with the same answer differ in what does not matter: the wording, the name, the number. What says nothing
about a question's answer is shrunk, and what is left of two questions is compared.

Rules
    - Relevant component analysis (Shental, Hertz, Weinshall and Pavel 2002) with shrinkage: vectors, less the mean of
      all, are multiplied by the inverse square root of the scatter within answers plus a multiple of the identity.
    - Scatter within answers is the residual of a regression of the vectors on the answers. An answer stands for itself
      and for each of its words that another answer has: a code of three parts is near to one that shares two of them.
      For labels that is the scatter around the label means, as in the paper.
    - Used only if an answer is a label or short and without reasoning, and only if shown to be better: in five folds
      each case is compared with the nearest case of the others, by this metric and by the cosine, and wins if the
      answer that it finds has more in common with the case's own (Jaccard), or, in a tie, if those of the SHOWN nearest
      have; the one-sided exact sign test must give at most P. If an answer follows from two things together, which no
      sum of both shows, the cosine stays.
    - One metric for all task types of a run, so that a type learns from what another shows about the same words;
      answers of two types are never the same. A type with more cases lost than won keeps the cosine.
    - It is made from many cases and so is general (rules/own.py); of those that are up to date (rules/drift.py) the
      newest MOST are used, without those of clients in doubt (rules/doubt.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.distributions import sign_test
from mage_es.engine.rules.doubt import doubted
from mage_es.engine.rules.drift import since
from mage_es.engine.seams.embedder import Vector
from mage_es.projections.memory import Index, Memory
from mage_es.projections.slices import Slice, computed_of

MOST, FOLDS, SHOWN = 600, 5, 5
P = 0.1
SHRINKAGE = 0.1
"""What is added to the scatter, whose mean over all directions is 1. Values from 0.03 to 0.3 make little difference."""
_BLOCK = 4_096
_WORD = re.compile(r"[^\W_]+")
_Floats = NDArray[np.float64]


class Metric(NamedTuple):
    """A linear map of vectors of dimension d: the share `lost` of their part along each of the r `axes` is removed.

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
        """Return the cosine of a vector and each row of a slice, with the map applied to both."""
        own = self.moved(vector)
        # The map is symmetric: it is applied to the single vector twice, and only the lengths of the rows are kept.
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


class _Case(NamedTuple):
    task_type: str
    vector: Vector
    answer: str


def metric_of(memory: Memory, task_type: str) -> Metric | None:
    """Return the metric that the cases show to be better than the cosine for a task type, None if there is none."""
    if not (slices := slices_of(memory)):
        return None
    return computed_of(slices, "metric", lambda: _of_cases(memory, slices)).get(task_type)


def slices_of(memory: Memory) -> list[Slice]:
    """Return the slices of all task types that have memories."""
    return [
        rows for name in memory.task_types() for index in get_args(Index) if (rows := memory.slice(index, name)).ids
    ]


def _of_cases(memory: Memory, slices: Sequence[Slice]) -> Mapping[str, Metric]:
    found = (
        (rows.births[row], name, rows.vectors[row])
        for rows in slices
        for row, name in enumerate(rows.ids)
        if rows.kinds[row] != "type_strategy"
    )
    up_to_date = {name: since(memory, name) for name in memory.task_types()}
    in_doubt = {name: doubted(memory, name) for name in memory.task_types()}
    cases = (
        _Case(row.task_type, vector, row.answer)
        for _, name, vector in sorted(found, key=itemgetter(0, 1))
        if not up_to_date[(row := memory.row(name)).task_type].is_outdated(memory.taught(row), row.answer)
        and row.origin.by not in in_doubt[row.task_type]
    )
    return shown(list(cases)[-MOST:])


def shown(cases: Sequence[tuple[str, Vector, str]]) -> Mapping[str, Metric]:
    """Return by task type the metric of cases, each a task type, a vector [d] and an answer, if they show that it is
    better."""
    types = np.array([task_type for task_type, _, _ in cases])
    vectors = np.array([vector for _, vector, _ in cases], dtype=np.float64)
    features = [_features(task_type, answer) for task_type, _, answer in cases]
    # With a single answer there is nothing to tell apart.
    if len({*features}) < 2:
        return {}
    pairs = _pairs(types, vectors, features)
    won, lost = (sum(which.values()) for which in pairs)
    if won <= lost or sign_test(won, won + lost) > P:
        return {}
    learned = _learned(vectors, features)
    better = (str(name) for name in np.unique(types) if pairs.won[str(name)] >= pairs.lost[str(name)])
    return {name: learned._replace(mean=vectors[types == name].mean(axis=0)) for name in better}


def _features(task_type: str, answer: str) -> frozenset[str]:
    # The same word is a different answer in another type.
    answer = answer.strip().casefold()
    parts = ("", f"={answer}", *_WORD.findall(answer))
    return frozenset(f"{task_type}\x00{part}" for part in parts)


def _learned(vectors: _Floats, features: Sequence[frozenset[str]]) -> Metric:
    mean = vectors.mean(axis=0)
    within = vectors - mean
    count = Counter(chain.from_iterable(features))
    if shared := sorted(name for name, times in count.items() if 1 < times < len(features)):
        has = np.array([[name in own for name in shared] for own in features], dtype=np.float64)
        has -= has.mean(axis=0)
        # The dual form, as there are fewer cases than words. A word that few cases have explains little: it would fit
        # noise.
        products = has @ has.T
        within -= products @ np.linalg.solve(products + np.eye(len(products)), within)
    _, scales, axes = np.linalg.svd(within, full_matrices=False)
    mean_scatter = float((scales**2).sum()) / vectors.shape[1]
    scatter = scales**2 / (mean_scatter or 1.0)
    # A multiple of the root of the inverse, which no cosine depends on: directions without scatter keep their scale.
    return Metric(mean, axes, 1 - np.sqrt(SHRINKAGE / (scatter + SHRINKAGE)))


class _Pairs(NamedTuple):
    """How many cases each measure was better for, by task type."""

    won: Counter[str]
    lost: Counter[str]


def _pairs(types: NDArray[np.str_], vectors: _Floats, features: Sequence[frozenset[str]]) -> _Pairs:
    pairs = _Pairs(Counter(), Counter())
    folds = np.arange(len(features)) % FOLDS
    for fold in range(min(FOLDS, len(features))):
        others = np.flatnonzero(folds != fold)
        metric = _learned(vectors[others], [features[int(place)] for place in others])
        for name in np.unique(types[folds == fold]):
            asked, known = np.flatnonzero((folds == fold) & (types == name)), others[types[others] == name]
            if not len(known):
                continue
            # Only cases of its own type are shown with a question, so what they all share must not count.
            own = metric._replace(mean=vectors[known].mean(axis=0))
            moved = own.moved(vectors[known])
            moved /= _length(moved)[:, None]
            ways = (own.moved(vectors[asked]) @ moved.T, vectors[asked] @ vectors[known].T)
            nearest = (known[way.argsort(axis=1)[:, ::-1][:, :SHOWN]] for way in ways)
            for place, *found in zip(asked, *nearest, strict=True):
                by_metric, by_cosine = (
                    [_common(features[int(place)], features[int(at)]) for at in row] for row in found
                )
                more, less = ((each[0], sum(each)) for each in (by_metric, by_cosine))
                pairs.won[str(name)] += more > less
                pairs.lost[str(name)] += more < less
    return pairs


def _common(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def _length(vectors: _Floats) -> Any:
    return np.maximum(np.linalg.norm(vectors, axis=-1), np.finfo(np.float32).tiny)
