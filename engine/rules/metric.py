"""The metric of cases: which differences between questions matter, learned from the answers of its cases.

If two questions have the same answer, their differences do not matter: the wording, a name, a number. Directions that
say nothing about the answer are shrunk before two questions are compared.

Rules
    - There are two candidates, tried in the order below. The current metric is at first the cosine; a candidate
      replaces it if it is better.
    - A regression (rules/regression.py) ranks the cases of a type if it finds the right answer more often in the same
      folds. It also replaces a metric that is level with it, or better by chance (one-sided exact sign test, WORSE):
      these folds chose the metric as the best, and so flatter it. If the run has other types, the regression must find
      more, because the metric also knows a question's words from those types, which no fold shows. The regression
      learns from all cases, and where it ranks no case is left out: among many, one wrong case has little weight.
    - First candidate: relevant component analysis (Shental, Hertz, Weinshall and Pavel 2002) with shrinkage. The mean
      of all vectors is subtracted from each; the result is multiplied by the inverse square root of the scatter within
      answers plus a multiple of the identity. The scatter within answers is the residual of a regression of the vectors
      on the answers. An answer is represented by those of its words that another answer shares, a label by letters and
      numbers: Z4H is near to Z4L and Z2H. Where each answer is new, its letters say less of what is near than the
      wording does: 322/29z is copied from its question but for the z. For plain labels this is the scatter around the
      label means, as in the paper.
    - Second candidate: neighbourhood components analysis (Goldberger, Roweis, Hinton and Salakhutdinov 2004). Each case
      draws another case of its type, a nearer one with a higher probability; the map is the one under which it most
      probably draws one with its own answer. It finds what the first candidate cannot: an answer that follows from two
      things together, neither of which says anything alone. If the answer follows from a single thing, it finds less.
      It is not learned if no two answers are the same, or if the current metric leaves too little to gain.
    - A case is outvoted if VOTES of its nearest cases in other folds have another answer (edited nearest neighbour,
      Wilson 1972). It is never shown, and the metric is learned again without it. This is done only if such votes are
      right often enough (RIGHT) to tell a slip from a rarity, and if, by the same folds and the same test, all cases
      (the outvoted ones included) find more when the outvoted ones are gone.
    - A metric is used only for answers that are labels, or are short and without worked solutions, and only if it is
      shown to be better. In five folds each case is compared with the nearest case of the other folds, by both
      measures. A measure wins if the answer that it finds has more in common with the case's own (Jaccard) or, in a
      tie, if the answers of the NEIGHBOURS nearest do. The one-sided exact sign test must give at most P.
    - Where answers are copied out of their questions and are no labels (`gold.are_copied`), what a case shows is where
      to copy from. There an answer is represented by the words before and after what is copied (`gold.copied_from`),
      and no regression ranks.
    - Where most answers are numbers and they are no labels, they may be results of calculations, which are equal by
      chance and say little about how they were reached. Whatever replaces the cosine there must win at SURE.
    - All task types of a run share one metric, so that a type learns from what another type shows about the same words;
      answers of different types never count as the same. A type that loses more cases than it wins keeps its metric.
    - Cases that are out of date (rules/drift.py) count as a separate type. Which differences matter often outlives the
      answers, and the few cases since a change can neither show it again nor outvote a slip by the cosine. But the
      differences may have changed too, so a metric from the later cases alone is also tried, and used if it is better
      by the same test.
    - No event and no digest holds the metric, only the similarities that it gives. It is computed from the cases
      (`computed_of`), and again after each change of them, so a quarantined case no longer teaches it.
    - The metric is made from many cases, and therefore counts as general (rules/own.py). It learns from the newest MOST
      cases, neighbourhood components from the newest LATEST, always without the cases of clients in doubt
      (rules/doubt.py). Anchors have a metric of their own, made without cases of anchors (rules/refit.py).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.distributions import sign_test
from mage_es.engine.rules.doubt import doubted
from mage_es.engine.rules.drift import since
from mage_es.engine.rules.gold import PIECE, are_copied, are_labels, copied_from, may_be_results
from mage_es.engine.rules.own import normal_form, of_anchors
from mage_es.engine.rules.regression import BUCKETS, WHOLE, Regression, parts_of, regression_of, words_of
from mage_es.engine.seams.embedder import Vector
from mage_es.projections.memory import Index, Memory
from mage_es.projections.slices import Slice, computed_of

MOST, FOLDS, NEIGHBOURS = 600, 5, 5
VOTES, RIGHT = 4, 0.75
"""How many of a case's NEIGHBOURS outvote it, and how often they must be right about the cases that they judge."""
P, SURE = 0.1, 0.01
"""The largest p value for a better metric: of the first, and of the second, which can overfit more."""
FEWEST = 12
"""Of fewer cases, folds do not tell whether a regression finds more: with ten it is no better than the cosine."""
WORSE = 0.2
"""The largest p value for a regression that is worse than what was chosen before."""
SHRINKAGE = 0.1
"""What is added to the scatter, whose mean over all directions is 1. Values from 0.03 to 0.3 make little difference."""
LATEST, AXES, STEPS = 300, 64, 40
"""Most cases and principal axes for components of neighbourhoods, and steps of the ascent: more gain hardly
anything."""
START, RATE, LEAST = 2.0, 0.2, 0.01
"""The scale of the ascent's first map, its step, and the scale of everything off the axes, relative to the largest. The
first two make little difference."""
_ALL = (1.0, float(NEIGHBOURS))
"""What a case has in common with its nearest if all of them have its own answer."""
_NEVER = -1e9
"""The closeness of two cases that are never compared; its exponential is 0."""
_BLOCK = 4_096
_OLD = "before a change\x00"
"""The prefix that, before a task type's name, names the separate type of its out-of-date cases."""
_WORD = re.compile(r"[^\W_]+")
"""A part of an answer that is no label."""
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


class Placed(NamedTuple):
    """A case: its position, a vector [d], its answer, and its question as far as it has a text of its own."""

    task_type: str
    vector: Vector
    answer: str
    is_old: bool = False
    """Whether it is out of date."""
    question: str = ""
    question_id: str = ""


class FittedMetrics(NamedTuple):
    """The result of learning from cases: by task type the metric that beats the cosine and the regression that ranks
    instead, if any, and the positions of outvoted cases."""

    metrics: Mapping[str, Metric]
    regressions: Mapping[str, Regression] = {}
    outvoted: Sequence[int] = ()


def metric_of(memory: Memory, task_type: str, *, for_anchors: bool = False) -> Metric | None:
    """Return the metric that the cases show to be better than the cosine for a task type, or None. `for_anchors` is
    whether it must not be learned from anchors."""
    learned, _ = _learned(memory, for_anchors=for_anchors)
    return learned.metrics.get(task_type)


def regression_for(memory: Memory, task_type: str, *, for_anchors: bool = False) -> Regression | None:
    """Return the regression that ranks a task type's cases, or None if the metric or the cosine finds more."""
    learned, _ = _learned(memory, for_anchors=for_anchors)
    return learned.regressions.get(task_type)


def outvoted(memory: Memory, *, for_anchors: bool = False) -> frozenset[str]:
    """Return the ids of the cases that similar ones outvote."""
    _, found = _learned(memory, for_anchors=for_anchors)
    return found


def _learned(memory: Memory, *, for_anchors: bool) -> tuple[FittedMetrics, frozenset[str]]:
    if not (slices := slices_of(memory)):
        return FittedMetrics({}), frozenset()
    apart = frozenset().union(*map(of_anchors, slices)) if for_anchors else frozenset[str]()
    name = "metric for anchors" if apart else "metric"
    return computed_of(slices, name, lambda: _of_cases(memory, slices, apart))


def slices_of(memory: Memory) -> list[Slice]:
    """Return the slices of all task types that have memories."""
    return [
        rows for name in memory.task_types() for index in get_args(Index) if (rows := memory.slice(index, name)).ids
    ]


def _of_cases(memory: Memory, slices: Sequence[Slice], apart: frozenset[str]) -> tuple[FittedMetrics, frozenset[str]]:
    found = (
        (rows.births[row], name, rows.vectors[row])
        for rows in slices
        for row, name in enumerate(rows.ids)
        if rows.kinds[row] != "type_strategy" and name not in apart
    )
    up_to_date = {name: since(memory, name) for name in memory.task_types()}
    in_doubt = {name: doubted(memory, name) for name in memory.task_types()}
    cases = [
        (name, Placed(row.task_type, vector, row.answer, is_old, row.question, row.question_id))
        for _, name, vector in sorted(found, key=itemgetter(0, 1))
        if (row := memory.row(name)).origin.by not in in_doubt[row.task_type]
        for is_old in (up_to_date[row.task_type].is_outdated(memory.taught(row), row.answer),)
    ][-MOST:]
    fitted = learn_metrics([case for _, case in cases])
    return fitted, frozenset(cases[place][0] for place in fitted.outvoted)


class _Cases(NamedTuple):
    """Cases in columns: of n cases, `types` is [n], `vectors` [n, d], `folds` [n]."""

    types: NDArray[np.str_]
    vectors: _Floats
    features: Sequence[frozenset[str]]
    folds: NDArray[np.intp]
    is_calculated: bool
    """Whether the answers may be results of calculations."""

    @property
    def p(self) -> float:
        return SURE if self.is_calculated else P

    def some(self, places: NDArray[np.intp]) -> _Cases:
        features = [self.features[int(place)] for place in places]
        return _Cases(self.types[places], self.vectors[places], features, self.folds[places], self.is_calculated)


def learn_metrics(cases: Sequence[Placed]) -> FittedMetrics:
    """Return the metrics and regressions that cases give."""
    types, turns = [_OLD * case.is_old + case.task_type for case in cases], defaultdict[str, dict[object, int]](dict)
    folds = list[int]()
    # By turns in each type, so that every fold has cases of every type. The cases of one question are in one fold: each
    # would find the other's answer, whatever counts as near.
    for place, (name, case) in enumerate(zip(types, cases, strict=True)):
        folds.append(turns[name].setdefault(case.question_id or place, len(turns[name])) % FOLDS)
    answers = [case.answer for case in cases]
    is_labelled = are_labels(answers)
    is_copied = not is_labelled and are_copied([(case.question, case.answer) for case in cases])
    known = _Cases(
        np.array(types),
        np.array([case.vector for case in cases], dtype=np.float64),
        [
            _of_type(name, copied_from(case.question, case.answer))
            if is_copied
            else features(name, case.answer, is_label=is_labelled)
            for name, case in zip(types, cases, strict=True)
        ],
        np.array(folds, dtype=np.intp),
        is_calculated=may_be_results(answers) and not is_labelled and not is_copied,
    )
    fitted, held = _of_both_times(known, np.array([case.is_old for case in cases], dtype=bool))
    if is_copied:
        return fitted
    regressions = _regressions(known, cases, held, fitted.metrics, is_labelled=is_labelled)
    return fitted._replace(regressions=regressions)


def _of_both_times(known: _Cases, is_old: NDArray[np.bool_]) -> tuple[FittedMetrics, Sequence[NDArray[np.intp]]]:
    """Return what `_fitted` does, for all cases together or, where that is better, for the up-to-date cases alone."""
    together, held = _fitted(known)
    late = np.flatnonzero(~is_old)
    if len(late) in (0, len(is_old)):
        return together, held
    alone, nearest = _fitted(known.some(late))
    found = [*held]
    for place, row in zip(late, nearest, strict=True):
        found[place] = late[row]
    better = _better(known, found, held, known.p)
    chosen = {name: alone if name in better else together for name in map(str, np.unique(known.types))}
    return (
        FittedMetrics(
            {name: by.metrics[name] for name, by in chosen.items() if name in by.metrics},
            outvoted=[place for place in together.outvoted if known.types[place] not in better]
            + [int(late[place]) for place in alone.outvoted if known.types[late[place]] in better],
        ),
        [found[place] if name in better else held[place] for place, name in enumerate(map(str, known.types))],
    )


def _regressions(
    known: _Cases,
    cases: Sequence[Placed],
    held: Sequence[NDArray[np.intp]],
    metrics: Mapping[str, Metric],
    *,
    is_labelled: bool,
) -> dict[str, Regression]:
    """Return the regressions that rank the cases of their task types. Each is compared, in folds, with the nearest
    cases that metrics alone find (`held`)."""
    chosen, words = dict[str, Regression](), words_of([case.question for case in cases])
    if not is_labelled:
        words[:, BUCKETS:] = 0.0  # a number that an answer repeats is copied: cases that share it show nothing new
    for name in {case.task_type: None for case in cases if not case.is_old and case.question}:
        # One case of each question: to leave out one of two would leave its answer there.
        own = [*{cases[at].question_id or at: at for at, found in enumerate(known.types) if found == name}.values()]
        if len(own) < FEWEST:
            continue
        taught = frozenset(chain.from_iterable((normal_form(cases[at].question), cases[at].question_id) for at in own))
        learned = regression_of(words[own], [known.features[at] for at in own], known.folds[own], taught)
        if not learned:
            continue
        won = lost = 0
        for at, answer in zip(own, learned[1], strict=True):
            if answer is not None:  # where it expects nothing, it changes nothing
                more, less = _shared(known.features[at], answer), _common(known, at, held[at])[0]
                won, lost = won + (more > less), lost + (more < less)
        # Only a metric of all types may know words that no question of this type has used yet; no fold shows that.
        must_win = name not in metrics or len(own) < len(cases)
        is_better = won > lost and (not known.is_calculated or sign_test(won, won + lost) <= SURE)
        if is_better or not (must_win or sign_test(lost, won + lost) <= WORSE):
            chosen[name] = learned[0]._replace(is_labelled=is_labelled)
    return chosen


def _fitted(known: _Cases) -> tuple[FittedMetrics, Sequence[NDArray[np.intp]]]:
    """Return the metrics learned from the cases, and for each case the positions of its nearest cases in other folds,
    by these metrics."""
    best: dict[str, Metric] = {}
    everything = np.arange(len(known.features))
    names, ways = [*map(str, np.unique(known.types))], dict[str, _Way]()
    held = _nearest(known, {}, everything)
    # With a single answer there is nothing to tell apart.
    if len({*known.features}) < 2:
        return FittedMetrics(best), held
    for learn, p in ((_relevant, known.p), (_neighbourhood, SURE)):
        # Where nearly every case finds its own answer, no metric could be shown to be better.
        left = sum(_common(known, place, row) < _ALL for place, row in enumerate(held))
        if sign_test(left, left) > p or not (learned := learn(known)):
            continue
        found = _nearest(known, dict.fromkeys(names, learn), everything)
        better = _better(known, found, held, p)
        best |= {name: learned._replace(mean=known.vectors[known.types == name].mean(axis=0)) for name in better}
        ways |= dict.fromkeys(better, learn)
        held = [found[at] if known.types[at] in better else held[at] for at in everything]
    left_out = _outvoted(known, held)
    kept = np.setdiff1d(everything, left_out)
    if not left_out or not (better := _better(known, (found := _nearest(known, ways, kept)), held, known.p)):
        return FittedMetrics(best), held
    for name in better & ways.keys():
        if learned := ways[name](known.some(kept)):
            best[name] = learned._replace(mean=known.vectors[kept[known.types[kept] == name]].mean(axis=0))
    held = [found[at] if known.types[at] in better else held[at] for at in everything]
    return FittedMetrics(best, outvoted=[place for place in left_out if known.types[place] in better]), held


def features(task_type: str, answer: str, *, is_label: bool) -> frozenset[str]:
    answer = answer.strip().casefold()
    words = (PIECE if is_label else _WORD).findall(answer)
    whole = f"={answer}" if len(words) < 2 else f"{WHOLE}{answer}"
    return _of_type(task_type, (whole, *words))


def _of_type(task_type: str, parts: Iterable[str]) -> frozenset[str]:
    # The same word is a different answer in another type.
    return frozenset(f"{task_type}\x00{part}" for part in ("", *parts))


def _relevant(cases: _Cases) -> Metric:
    vectors, features = cases.vectors, cases.features
    mean = vectors.mean(axis=0)
    within = vectors - mean
    count = Counter(chain.from_iterable(map(parts_of, features)))
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


def _neighbourhood(cases: _Cases) -> Metric | None:
    types, vectors, features = cases.types[-LATEST:], cases.vectors[-LATEST:], cases.features[-LATEST:]
    codes = {own: code for code, own in enumerate(dict.fromkeys(features))}
    answers = np.array([codes[own] for own in features])
    is_other = ~np.eye(len(answers), dtype=bool)
    is_same = is_other & (answers[:, None] == answers)
    is_met = is_other & (types[:, None] == types)
    # A case alone with its answer can draw none with it.
    counts = is_same.any(axis=1)
    if not counts.any():
        return None
    mean = vectors.mean(axis=0)
    axes = np.linalg.svd(vectors - mean, full_matrices=False)[2][:AXES]
    points = (vectors - mean) @ axes.T
    transform = START * np.eye(len(axes))
    slope, spread = np.zeros_like(transform), np.zeros_like(transform)
    for step in range(1, STEPS + 1):
        moved = points @ transform
        squares = (moved**2).sum(axis=1)
        closeness = np.where(is_met, 2 * moved @ moved.T - squares, _NEVER)
        drawn = np.exp(closeness - closeness.max(axis=1, keepdims=True))
        drawn /= drawn.sum(axis=1, keepdims=True)
        right = drawn * is_same
        right /= np.maximum(right.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        # How much each pair should be nearer; the gradient of the log likelihood, less that of a normal prior.
        nearer = (right - drawn) * counts[:, None]
        nearer += nearer.T
        gradient = 2 * points.T @ (nearer @ moved - nearer.sum(axis=1)[:, None] * moved) - transform
        # Adam (Kingma and Ba 2015) with its usual constants.
        slope, spread = 0.9 * slope + 0.1 * gradient, 0.999 * spread + 0.001 * gradient**2
        transform = transform + RATE * slope / (1 - 0.9**step) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    turned, scales, _ = np.linalg.svd(transform)
    return Metric(mean, turned.T @ axes, 1 - scales / (LEAST * scales[0]))


_Way = Callable[[_Cases], Metric | None]


def _nearest(cases: _Cases, ways: Mapping[str, _Way], kept: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return for each case the positions of the NEIGHBOURS nearest kept cases of its type in other folds, by its type's
    metric or by the cosine."""
    found, folds = [np.zeros(0, dtype=np.intp)] * len(cases.features), cases.folds
    for fold in np.unique(folds):
        others = kept[folds[kept] != fold]
        taught = {way: way(cases.some(others)) for way in {*ways.values()}} if len(others) else {}
        for name in np.unique(cases.types[folds == fold]):
            asked = np.flatnonzero((folds == fold) & (cases.types == name))
            known = others[cases.types[others] == name]
            if not len(known):
                continue
            sought, vectors = cases.vectors[asked], cases.vectors[known]
            if (way := ways.get(str(name))) and (metric := taught[way]):
                # Only cases of its own type are shown with a question, so what they all share must not count.
                own = metric._replace(mean=vectors.mean(axis=0))
                sought, vectors = own.moved(sought), own.moved(vectors)
                vectors /= _length(vectors)[:, None]
            nearest = known[(sought @ vectors.T).argsort(axis=1, kind="stable")[:, ::-1][:, :NEIGHBOURS]]
            for place, row in zip(asked, nearest, strict=True):
                found[int(place)] = row
    return found


def _better(cases: _Cases, found: Sequence[NDArray[np.intp]], held: Sequence[NDArray[np.intp]], p: float) -> set[str]:
    """Return the task types whose cases find more than before, if that is significant for all together."""
    won, lost = Counter[str](), Counter[str]()
    for place, (new, old) in enumerate(zip(found, held, strict=True)):
        name, more, less = str(cases.types[place]), _common(cases, place, new), _common(cases, place, old)
        won[name] += more > less
        lost[name] += more < less
    if won.total() <= lost.total() or sign_test(won.total(), won.total() + lost.total()) > p:
        return set()
    return {name for name in map(str, np.unique(cases.types)) if won[name] >= lost[name]}


def _outvoted(cases: _Cases, nearest: Sequence[NDArray[np.intp]]) -> list[int]:
    """Return the positions of the cases that VOTES of their nearest contradict, or none if such votes are often
    wrong."""
    found, sure = list[int](), 0
    for place, row in enumerate(nearest):
        for answer, votes in Counter(cases.features[int(at)] for at in row).most_common(1):
            sure += votes >= VOTES
            found += [place] * (votes >= VOTES and answer != cases.features[place])
    return found if len(found) <= (1 - RIGHT) * sure else []


def _common(cases: _Cases, place: int, nearest: NDArray[np.intp]) -> tuple[float, float]:
    """Return how much the nearest case has in common with a case, and how much all of the nearest together."""
    each = [_shared(cases.features[place], cases.features[int(at)]) for at in nearest]
    return (each[0], sum(each)) if each else (0.0, 0.0)


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of their parts that two answers have in common. [Jaccard]"""
    return len(one & other) / len(one | other)


def _length(vectors: _Floats) -> Any:
    return np.maximum(np.linalg.norm(vectors, axis=-1), np.finfo(np.float32).tiny)
