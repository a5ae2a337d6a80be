"""How right an answer is likely to be, from the words of a question: a ridge regression, learned from cases.

A metric (rules/metric.py) repeats what happened near by. Where each word speaks for an answer by itself, whatever else
was said ("over 20 kg", "refund", "never again"), weighing all words of all cases finds more. Where answers follow from
two things together it finds nothing, and a metric does.

Rules
    - Each task type has one regression, of the parts of its answers (`features` in rules/metric.py), each 1 or 0, on
      the words of their questions in BUCKETS (rules/hashing.py), whatever the embedder of the run. [Hoerl and Kennard
      1970]
    - The penalty is the one of PENALTIES with the least squared error over all cases, each left out once. [Allen 1974]
    - The worth of an answer is the mean of what is expected of its parts, at least 0. Cases with the same answer are
      ranked by the cosine, the newest first among those equally near.
    - Answers are shown in proportion to their worth: the j-th nearest case with an answer counts for a j-th of it, as
      in d'Hondt's rule for seats. So a doubtful question gets cases of both answers, and the number that agree with the
      nearest says how sure it is (rules/recall.py).
    - A metric ranks instead for a question that the regression was learned from (`taught`), since its own answer would
      show, and for one with a context, whose text is not all that is asked.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.hashing import Hashing
from mage_es.engine.seams.embedder import Vector

BUCKETS = 2_048
"""Enough that words rarely share one; twice as many find hardly more."""
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Relative to the squared length of a text's vector, which is 1."""
SEATS = 16
"""How many of the likeliest answers, and of the nearest cases of each, are ranked by seats: more are never shown."""
_TIE = 0.01
"""The weight of the cosine."""
_HASHING = Hashing(BUCKETS)
"""What it has cached of words is the same for all."""
_Floats = NDArray[np.float64]


def words_of(questions: Sequence[str]) -> _Floats:
    """Return the words of n questions, [n, BUCKETS]; zeros for one without any."""
    return _HASHING.vectors(questions).astype(np.float64)


class CaseAnswers(NamedTuple):
    """The answers of n cases in columns: `codes` [n] numbers the u different ones; `parts` [f, u] is what each is worth
    for each of the f parts that are expected."""

    codes: NDArray[np.intp]
    parts: _Floats


class Regression(NamedTuple):
    """What is expected of f parts of answers: `weights` is [BUCKETS, f], `shares` [f] the mean of each part in the
    cases, `mean` [BUCKETS] that of their words, `places` [f] the number of each part."""

    mean: _Floats
    weights: _Floats
    shares: _Floats
    places: Mapping[str, int]
    taught: frozenset[str]
    """The normalised questions of its cases, for which it must not rank: it has seen their answers."""

    def answers(self, features: Iterable[frozenset[str]]) -> CaseAnswers:
        """Return the columns for the answers of cases, each by its features."""
        numbers = dict[frozenset[str], int]()
        codes = np.array([numbers.setdefault(own, len(numbers)) for own in features], dtype=np.intp)
        parts = np.zeros((len(self.places), len(numbers)))
        for own, number in numbers.items():
            parts[[self.places[part] for part in own if part in self.places], number] = 1 / len(own)
        return CaseAnswers(codes, parts)

    def closeness(self, words: _Floats, answers: CaseAnswers, cosine: Vector) -> Vector:
        """Return how near each of n cases is to a question with these words, [n], by their answers and cosines [n]."""
        worth = np.maximum(((words - self.mean) @ self.weights + self.shares) @ answers.parts, 0.0)
        closeness = worth[answers.codes]
        for code in (-worth).argsort(kind="stable")[:SEATS]:
            if worth[code] > 0:
                own = np.flatnonzero(answers.codes == code)[::-1]
                closeness[own] /= SEATS
                if len(own) > SEATS:
                    own = own[cosine[own] >= np.partition(cosine[own], -SEATS)[-SEATS]]
                nearest = own[(-cosine[own]).argsort(kind="stable")][:SEATS]
                closeness[nearest] = worth[code] / np.arange(1, len(nearest) + 1)
        near: Vector = (closeness + _TIE * cosine).astype(np.float32)
        return near


def regression_of(
    words: _Floats, features: Sequence[frozenset[str]], taught: frozenset[str] = frozenset()
) -> Regression | None:
    """Return the regression of the features of n answers on the words [n, BUCKETS] of their questions; None if all
    answers are the same, or no question has a word."""
    count = Counter(part for own in features for part in own)
    parts = sorted(part for part, times in count.items() if times < len(features))
    if not parts or not words.any():
        return None
    has = np.array([[part in own for part in parts] for own in features], dtype=np.float64)
    mean, shares = words.mean(axis=0), has.mean(axis=0)
    centred = words - mean
    # The dual form, as there are fewer cases than buckets.
    spread, axes = np.linalg.eigh(centred @ centred.T)
    turned = axes.T @ (has - shares)
    least, chosen = np.inf, turned
    for penalty in PENALTIES:
        inverse = 1 / (np.maximum(spread, 0) + penalty)
        dual = axes @ (turned * inverse[:, None])
        # The error of each case by the regression on all others, without making it; their means lack it, too.
        left_out = dual / (axes**2 @ inverse - 1 / (penalty * len(features)))[:, None]
        if (error := float((left_out**2).sum())) < least:
            least, chosen = error, dual
    places = {part: place for place, part in enumerate(parts)}
    return Regression(mean, centred.T @ chosen, shares, places, taught)
