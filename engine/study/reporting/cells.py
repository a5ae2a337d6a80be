"""A report's tables as data, and how their numbers are made: means with deviation and number, paired differences.

Rules
    - A number that was not measured is None, never a zero and never a guess.
    - Percentages are 0 to 100, differences of them are points; a deviation is that of a sample (n - 1).
    - Two systems are compared on the same seeds only, or within a seed on the same questions only.
    - With two or more common seeds the interval is that of the mean difference (t, n - 1 degrees of freedom).
    - With one it is that of `run/exams.py` `by_question`.
    - Without a common seed there is a difference of means, and no interval.
"""

import math
import statistics
from collections.abc import Iterable
from typing import Literal

import msgspec
import polars as pl
from msgspec.structs import replace

from mage_es.engine.rules.distributions import t_quantile, t_tail
from mage_es.engine.run.exams import LEVEL, Interval, by_question

BY_SEED = "t, paired by seed"
OF_MEAN = "t"

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


class StudyTable(msgspec.Struct, frozen=True):
    """A table: `place` names the paper's table, `measure` explains the numbers."""

    name: str
    title: str
    place: str
    measure: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def cells(self) -> list[Cell]:
        return [entry for row in self.rows for entry in row if isinstance(entry, Cell)]

    @property
    def is_empty(self) -> bool:
        """Return whether it has no number or, if it is a table of words, no complete row."""
        return not self.cells and not (self.rows and all(isinstance(entry, str) for row in self.rows for entry in row))

    def is_number(self, at: int) -> bool:
        """Return whether a column has numbers, measured or not."""
        return not all(isinstance(row[at], str) for row in self.rows)

    @property
    def keys(self) -> int:
        """Return how many columns, from the left, identify a row: the columns of words before the first number."""
        numbers = list(map(self.is_number, range(len(self.columns))))
        return max(1, numbers.index(True)) if True in numbers else 1


def with_best(row: TableRow) -> TableRow:
    """Return the row with the highest mean marked as best, if at least two of its entries have a mean."""
    means = [entry.mean if isinstance(entry, Cell) else -math.inf for entry in row]
    if sum(mean > -math.inf for mean in means) < 2:
        return row
    at = means.index(max(means))
    return (*row[:at], replace(row[at], best=True), *row[at + 1 :])  # type: ignore[type-var]


def cell_of(values: Iterable[float | None], unit: Unit = "percent", *, interval: str = "") -> Cell | None:
    """Return mean, deviation and number of the values that were measured, one for each run; None without any.
    `interval` is the method of the mean's t interval, "" for none."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return None
    mean, deviation = statistics.fmean(numbers), statistics.stdev(numbers) if len(numbers) > 1 else None
    between = None
    if interval and deviation is not None:
        error, freedom = deviation / len(numbers) ** 0.5, len(numbers) - 1
        half, p = t_quantile((1 + LEVEL) / 2, freedom) * error, None
        if interval != OF_MEAN:  # a difference, which may be zero
            p = 2 * t_tail(abs(mean) / error, freedom) if error else float(mean == 0)
        between = Interval(low=mean - half, high=mean + half, method=interval, pairs=len(numbers), p=p)
    return Cell(mean=mean, sd=deviation, n=len(numbers), unit=unit, interval=between)


def by_seed(scores: pl.DataFrame, value: str = "value") -> list[float]:
    """Return the mean of each seed in percent, in the order of seeds."""
    means = scores.group_by("seed").agg(pl.col(value).sum() * 100 / pl.len())
    return means.sort("seed")[value].to_list()


def difference(one: pl.DataFrame, other: pl.DataFrame) -> Cell | None:
    """Return `one` minus `other` in points, with the interval that their common seeds allow; None without data.

    Both have a row for each seed and question, with its `value` in [0, 1]. For a pair of runs the questions that both
    answered count.

    [tables, main results] A t interval on common seeds; one seed is paired by question (exact, and its sign test);
    none without a common seed.
    """
    pairs = one.join(other, on=("seed", "question")).with_columns(gain=pl.col("value") - pl.col("value_right"))
    if pairs.is_empty():
        sides = [by_seed(side) for side in (one, other)]
        if not all(sides):
            return None
        points = statistics.fmean(sides[0]) - statistics.fmean(sides[1])
        return Cell(mean=points, sd=None, n=min(map(len, sides)), unit="points")
    cell = cell_of(by_seed(pairs, "gain"), "points", interval=BY_SEED)
    return (
        replace(cell, interval=by_question(pairs.sort("question")["gain"].to_list())) if cell and cell.n == 1 else cell
    )
