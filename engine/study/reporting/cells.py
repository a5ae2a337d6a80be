"""A report's tables as data: means with their deviation and number.

Rules
    - A number that was not measured is None, never a zero and never a guess.
    - Percentages are 0 to 100, differences of them are points; a deviation is that of a sample (n - 1).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from mage_es.engine.run.exams import Interval

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
Row = tuple[Entry, ...]


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
    rows: tuple[Row, ...]
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


def with_best(row: Row) -> Row:
    """Return the row with the highest mean marked as best, if at least two of its entries have a mean."""
    filled = [(entry.mean, -at) for at, entry in enumerate(row) if isinstance(entry, Cell)]
    if len(filled) < 2:
        return row
    best = -max(filled)[1]
    return tuple(
        msgspec.structs.replace(entry, best=True) if at == best and isinstance(entry, Cell) else entry
        for at, entry in enumerate(row)
    )
