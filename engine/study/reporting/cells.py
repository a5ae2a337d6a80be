"""A report's tables as data, and how their numbers are made: means with deviation and number, paired differences.

Rules
    - A number that was not measured is None, never a zero and never a guess.
    - Percentages are 0 to 100, differences of them are points; a deviation is that of a sample (n - 1).
    - Two systems are compared on the same seeds only, or within a seed on the same questions only.
    - With two or more common seeds the interval is that of the mean difference (t, n - 1 degrees of freedom).
    - With one it is that of `run/exams.py` `by_question`.
    - Without a common seed there is a difference of means, and no interval.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from mage_es.engine.rules.distributions import beta_cdf, t_quantile
from mage_es.engine.run.exams import LEVEL, Interval, by_question

BY_SEED = "t, paired by seed"
OF_MEAN = "t"

QuestionScores = Mapping[str, float]
"""The scores of one system on the questions of one seed, in [0, 1]."""

Unit = Literal["percent", "points", "count", "dollars", "seconds", "value"]


class Cell(msgspec.Struct, frozen=True, kw_only=True, tag="cell"):
    """The mean of `n` runs, its standard deviation (None for one run), and an interval if something is compared.

    [tables, cells] The deviation is a sample's (n - 1); a number that was not measured is never shown.
    """

    mean: float
    sd: float | None
    n: int
    unit: Unit = "percent"
    interval: Interval | None = None
    best: bool = False


Entry = Cell | str | None
TableRow = tuple[Entry, ...]


class TableColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column's name, and that of its group ("" for none)."""

    name: str
    group: str = ""


class StudyTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table: `place` names the paper's table, `measure` explains the numbers."""

    name: str
    title: str
    place: str
    measure: str
    columns: tuple[TableColumn, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether it has no number or, if it is a table of words, no complete row."""
        return not any(isinstance(entry, Cell) for row in self.rows for entry in row) and not (
            self.rows and all(isinstance(entry, str) for row in self.rows for entry in row)
        )

    @property
    def keys(self) -> int:
        """Return how many columns, from the left, identify a row: the columns of words before the first number."""
        words = [all(isinstance(row[at], str) for row in self.rows) for at in range(len(self.columns))]
        return words.index(False) if self.rows and False in words[1:] and words[0] else 1


def columns(*names: str, group: str = "") -> tuple[TableColumn, ...]:
    return tuple(TableColumn(name=name, group=group) for name in names)


def with_best(row: TableRow) -> TableRow:
    """Return the row with the highest mean marked as best, if at least two of its entries have a mean."""
    filled = [(entry.mean, -at) for at, entry in enumerate(row) if isinstance(entry, Cell)]
    if len(filled) < 2:
        return row
    best = -max(filled)[1]
    return tuple(
        replace(entry, best=True) if at == best and isinstance(entry, Cell) else entry for at, entry in enumerate(row)
    )


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
    pairs = [
        [one[seed][name] - other[seed][name] for name in sorted(one[seed].keys() & other[seed].keys())]
        for seed in seeds
    ]
    cell = cell_of((100 * statistics.fmean(each) for each in pairs), "points", interval=BY_SEED)
    return replace(cell, interval=by_question(pairs[0])) if cell and len(pairs) == 1 else cell


def _t_interval(values: Sequence[float], method: str) -> Interval:
    """Return the t interval of a mean and, for differences, the p value of a zero mean."""
    n, mean, deviation = len(values), statistics.fmean(values), statistics.stdev(values)
    error = deviation / n**0.5
    half = t_quantile((1 + LEVEL) / 2, n - 1) * error
    p = None
    if method != OF_MEAN:
        p = 2 * t_tail(abs(mean) / error, n - 1) if error else float(mean == 0)
    return Interval(low=mean - half, high=mean + half, method=method, pairs=n, p=p)


def t_tail(t: float, freedom: float) -> float:
    """Return P(T > t) for t >= 0."""
    if t < 1:  # where the other share would be 1 but for its last digits
        return (1 - float(beta_cdf(0.5, freedom / 2, t * t / (freedom + t * t)))) / 2
    return float(beta_cdf(freedom / 2, 0.5, freedom / (freedom + t * t))) / 2
