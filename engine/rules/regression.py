"""How likely an answer is to be right, judged by the words of the question: a ridge regression, learned from cases.

A metric (rules/metric.py) repeats the answers of similar questions. Often a single word points to an answer, whatever
else is said ("over 20 kg", "refund", "never again"); then a regression, which weighs every word over all cases, does
better. Where an answer depends on two things together, a regression finds nothing, but a metric does.

Rules
    - Each task type has one regression, of the parts of its answers (`features` in rules/metric.py; each is 1 or 0) on
      the words of its questions in BUCKETS (rules/hashing.py), whatever the run's embedder is. [Hoerl and Kennard 1970]
      Parts that occur in only one case, or in every case, tell nothing and are left out.
    - Where answers are labels, a number that two cases share also counts as it is written (NAMES): 404 and 409 are
      about the same amount, but an error code, an account or a shelf is a name. In other answers the number itself
      appears, and a model copies it anyway.
    - Either all words count alike, or a word counts more the fewer questions have it (inverse document frequency,
      Sparck Jones 1972), because in long texts the rare words decide. Of these two weightings and the penalties in
      PENALTIES, the pair with the least squared error is used, with each case left out once. [Allen 1974]
    - An answer is worth the geometric mean of what is expected of its parts, so that it needs them all: what shares two
      parts of three with the likeliest answer is no likely answer. A part of one case alone, and one that is hardly
      expected, counts as often as one case has it (`rare`). An answer without any part that is expected is worth 0.
      Cases with the same answer are ranked by the cosine; of those equally near the newest comes first.
    - `nearest` (rules/retrieval.py) shows answers in proportion to their worth, by d'Hondt's rule for seats: the j-th
      nearest case with an answer counts as 1/j of what the answer is worth. So a doubtful question gets cases of both
      answers, and the number that agree with the nearest says how sure the prediction is (rules/recall.py). Labels get
      two seats at a time (the 2j-th case counts as 1/j), because a small model copies the label that it sees most.
      Other answers do not, because different ones show more of the parts. Only cases that the question may get have
      seats.
    - A metric ranks instead in two cases: if the regression was learned from the question (`taught`), since its own
      answer would show through; and if the question has a context, since its text is then not all that is asked.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.hashing import Hashing

BUCKETS = 8_192
"""There are enough that the words of long texts rarely share a bucket."""
NAMES = 4_096
"""Further buckets, for numbers as they are written."""
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Relative to the squared length of a text's vector, which is 1."""
SEATS = 16
"""How many of the likeliest answers have seats: more are never shown."""
TIE = 0.01
"""The weight of the cosine."""
WHOLE = "~"
"""What begins an answer of several words as a whole: this tells it from others of the same words, and nothing else."""
_HASHING = Hashing(BUCKETS, NAMES)
"""Shared by all, so that each word is cached once."""
_Floats = NDArray[np.float64]


def words_of(questions: Sequence[str]) -> _Floats:
    """Return the words of n questions, [n, BUCKETS + NAMES]; zeros for one without any."""
    return _HASHING.vectors(questions).astype(np.float64)


class CaseAnswers(NamedTuple):
    """The answers of n cases in columns: `codes` [n] gives the number of each case's answer, of u different ones;
    `parts` [f, u] is the share that each of the f expected parts has in an answer, `others` [u] what its other parts
    are worth."""

    codes: NDArray[np.intp]
    numbers: Mapping[frozenset[str], int]
    """The number of each answer, by its features, in order."""
    parts: _Floats
    others: _Floats
    rare: float
    """What is expected of a part that only one case has."""

    def are(self, *answers: frozenset[str]) -> NDArray[np.bool_]:
        """Return which of the n cases have one of these answers."""
        wanted = np.zeros(len(self.numbers), dtype=np.bool_)
        wanted[[self.numbers[answer] for answer in answers if answer in self.numbers]] = True
        found: NDArray[np.bool_] = wanted[self.codes]
        return found

    def worth(self, expected: _Floats) -> _Floats:
        """Return what each of the u answers is worth, [..., u], given what is expected of each part, [..., f]."""
        logs: _Floats = np.log(np.maximum(expected, self.rare))
        is_expected = (expected > 0) @ (self.parts > 0)
        return np.where(is_expected, np.exp(logs @ self.parts) * self.others, 0.0)


class Regression(NamedTuple):
    """What is expected of f `parts` of answers: `scale` [BUCKETS + NAMES] is how much each word counts, `weights`
    [BUCKETS + NAMES, f] what it says, `shares` [f] what is expected without words."""

    scale: _Floats
    weights: _Floats
    shares: _Floats
    parts: Sequence[str]
    rare: float
    """What is expected of a part that only one case has."""
    taught: frozenset[str] = frozenset()
    """The ids and normalised texts of the questions that it was learned from. It must not rank for them, because it has
    seen their answers.
    """
    is_labelled: bool = False
    """Whether the answers are labels: the letters and the numbers of a label are separate parts."""

    def expected(self, words: _Floats) -> _Floats:
        """Return what is expected of each part, [f], of the answer to a question with these words [BUCKETS + NAMES]."""
        said = np.flatnonzero(words)
        scaled = words[said] * self.scale[said]
        expected: _Floats = scaled @ self.weights[said] / _length(scaled) + self.shares
        return expected


class _Ridge(NamedTuple):
    """A regression of n cases in its dual form, since there are fewer cases than buckets: `dual` [n, f]."""

    parts: Sequence[str]
    dual: _Floats
    shares: _Floats
    error: float


def parts_of(features: frozenset[str]) -> Sequence[str]:
    """Return the parts of an answer, without the whole."""
    return [part for part in features if f"\x00{WHOLE}" not in part]


def answers_of(features: Iterable[frozenset[str]], parts: Sequence[str], rare: float) -> CaseAnswers:
    """Return the answers of cases, each by its features, in columns."""
    numbers, places = dict[frozenset[str], int](), {part: place for place, part in enumerate(parts)}
    codes = np.array([numbers.setdefault(own, len(numbers)) for own in features], dtype=np.intp)
    shares, others = np.zeros((len(parts), len(numbers))), np.ones(len(numbers))
    in_all = frozenset.intersection(*numbers) if numbers else frozenset()
    for features_of_one, number in numbers.items():
        own = parts_of(features_of_one)
        expected = [places[part] for part in own if part in places]
        alone = sum(part not in places and part not in in_all for part in own)
        shares[expected, number] = 1 / max(len(expected) + alone, 1)
        others[number] = rare ** (alone / max(len(expected) + alone, 1))
    return CaseAnswers(codes, numbers, shares, others, rare)


def likeliest(answers: CaseAnswers, worth: _Floats) -> Mapping[frozenset[str], float]:
    """Return the worth of the SEATS most valuable answers, without those that are worth nothing."""
    known = [*answers.numbers]
    return {known[code]: float(worth[code]) for code in (-worth).argsort(kind="stable")[:SEATS] if worth[code] > 0}


def regression_of(
    words: _Floats, features: Sequence[frozenset[str]], folds: NDArray[np.intp], taught: frozenset[str] = frozenset()
) -> tuple[Regression, Sequence[frozenset[str] | None]] | None:
    """Return the regression of the features of n answers on the words [n, BUCKETS + NAMES] of their questions, and for
    each case the answer that the cases of other `folds` [n] make the likeliest, None if they expect nothing. Return
    None if no two answers have a part that others lack, or no question has a word."""
    occurring = np.flatnonzero(words.any(axis=0))
    found = [(ridge, *scaling) for scaling in _scalings(words, occurring) if (ridge := _ridge(scaling[2], features))]
    if not found:
        return None
    ridge, scale, scaled, products = min(found, key=lambda each: each[0].error)
    mean, weights = scaled.mean(axis=0), np.zeros((len(scale), len(ridge.parts)))
    weights[occurring] = (scaled - mean).T @ ridge.dual
    shares = ridge.shares - mean @ weights[occurring]
    regression = Regression(scale, weights, shares, ridge.parts, 1 / len(features), taught)
    return regression, _left_out(products, features, folds)


def _scalings(words: _Floats, occurring: NDArray[np.intp]) -> Iterator[tuple[_Floats, _Floats, _Floats]]:
    """Yield how much each word may count, [BUCKETS + NAMES]; the words that occur at that scale, [n, len(occurring)];
    and their products [n, n]."""
    count = np.count_nonzero(words, axis=0)
    rarity = np.log((1 + len(words)) / (1 + count))
    is_word = np.arange(len(count)) < BUCKETS
    # A number that no two questions have says nothing about another one, but would make its own question unlike it.
    is_shared = is_word | (count > 1)
    for counts in (is_word, is_shared) if (is_shared & ~is_word).any() else (is_word,):
        for scale in (counts.astype(np.float64), counts * rarity):
            scaled = words[:, occurring] * scale[occurring]
            scaled /= _length(scaled)[:, None]
            if scaled.any():
                yield scale, scaled, scaled @ scaled.T


def _ridge(products: _Floats, features: Sequence[frozenset[str]]) -> _Ridge | None:
    count = Counter(part for own in features for part in parts_of(own))
    parts = sorted(part for part, times in count.items() if 1 < times < len(features))
    if not parts:
        return None
    has = np.array([[part in own for part in parts] for own in features], dtype=np.float64)
    shares, mean = has.mean(axis=0), products.mean(axis=0)
    spread, axes = np.linalg.eigh(products - mean - mean[:, None] + mean.mean())
    turned = axes.T @ (has - shares)
    least, chosen = np.inf, turned
    for penalty in PENALTIES:
        inverse = 1 / (np.maximum(spread, 0) + penalty)
        dual = axes @ (turned * inverse[:, None])
        # The error of each case by the regression on all others, without making it; their means lack it, too.
        left_out = dual / (axes**2 @ inverse - 1 / (penalty * len(features)))[:, None]
        if (error := float((left_out**2).sum())) < least:
            least, chosen = error, dual
    return _Ridge(parts, chosen, shares, least)


def _left_out(
    products: _Floats, features: Sequence[frozenset[str]], folds: NDArray[np.intp]
) -> Sequence[frozenset[str] | None]:
    found: list[frozenset[str] | None] = [None] * len(features)
    for fold in np.unique(folds):
        asked, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        known = [features[int(place)] for place in others]
        if not (ridge := _ridge(products[np.ix_(others, others)], known)):
            continue
        between, mean = products[np.ix_(asked, others)], products[np.ix_(others, others)].mean(axis=0)
        centred = between - between.mean(axis=1, keepdims=True) - mean + mean.mean()
        answers = answers_of(known, ridge.parts, 1 / len(known))
        for place, worth in zip(asked, answers.worth(centred @ ridge.dual + ridge.shares), strict=True):
            found[place] = next(iter(likeliest(answers, worth)), None)
    return found


def _length(words: _Floats) -> Any:
    return np.maximum(np.linalg.norm(words, axis=-1), np.finfo(np.float32).tiny)
