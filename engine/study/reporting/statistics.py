"""Means, deviations and paired differences: by seed with Student's t, by question if there is only one seed.

Rules
    - Two systems are compared on the same seeds only, or within a seed on the same questions only.
    - With two or more common seeds the interval is that of the mean difference (t, n - 1 degrees of freedom).
    - With one it is that of `run/exams.py` `by_question`.
    - Without a common seed there is a difference of means, and no interval.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from mage_es.engine.rules.distributions import t_quantile, t_tail
from mage_es.engine.run.exams import LEVEL, Interval, by_question
from mage_es.engine.study.reporting.cells import Cell, Unit

BY_SEED = "t, paired by seed"
OF_MEAN = "t"

QuestionScores = Mapping[str, float]
"""The scores of one system on the questions of one seed, in [0, 1]."""


def cell_of(values: Iterable[float], unit: Unit = "percent", *, interval: str = "") -> Cell | None:
    """Return mean, deviation and number of values, one for each run; None without values. `interval` is the method of
    the mean's t interval, "" for none."""
    found = list(values)
    if not found:
        return None
    mean, deviation = statistics.fmean(found), statistics.stdev(found) if len(found) > 1 else None
    between = _t_interval(found, interval) if interval and len(found) > 1 else None
    return Cell(mean=mean, sd=deviation, n=len(found), unit=unit, interval=between)


def difference(one: Mapping[int, QuestionScores], other: Mapping[int, QuestionScores]) -> Cell | None:
    """Return `one` minus `other` in points, with the interval that their common seeds allow; None without data.

    Both map seeds to the score of each question. For a pair of runs the questions that both answered count.

    [tables, main results] A t interval on common seeds; one seed is paired by question (exact, and its sign test);
    none without a common seed.
    """
    seeds = sorted(seed for seed in one.keys() & other.keys() if one[seed].keys() & other[seed].keys())
    if not seeds:
        sides = [[100 * statistics.fmean(each.values()) for each in side.values() if each] for side in (one, other)]
        if not all(sides):
            return None
        points = statistics.fmean(sides[0]) - statistics.fmean(sides[1])
        return Cell(mean=points, sd=None, n=min(map(len, sides)), unit="points")
    pairs = [_differences(one[seed], other[seed]) for seed in seeds]
    cell = cell_of((100 * statistics.fmean(each) for each in pairs), "points", interval=BY_SEED)
    return replace(cell, interval=by_question(pairs[0])) if cell and len(pairs) == 1 else cell


def _differences(one: QuestionScores, other: QuestionScores) -> list[float]:
    return [one[name] - other[name] for name in sorted(one.keys() & other.keys())]


def _t_interval(values: Sequence[float], method: str) -> Interval:
    """Return the t interval of a mean and, for differences, the p value of a zero mean."""
    n, mean, deviation = len(values), statistics.fmean(values), statistics.stdev(values)
    error = deviation / n**0.5
    half = t_quantile((1 + LEVEL) / 2, n - 1) * error
    p = None
    if method != OF_MEAN:
        p = 2 * t_tail(abs(mean) / error, n - 1) if error else float(mean == 0)
    return Interval(low=mean - half, high=mean + half, method=method, pairs=n, p=p)
