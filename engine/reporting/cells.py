"""A report's tables as data: means with their deviation and number, and the commands that would fill what is empty.

Rules
    - A number that was not measured is a `Gap`, never a zero and never a guess.
    - Percentages are 0 to 100, differences of them are points; a deviation is that of a sample (n - 1).
"""

from __future__ import annotations

from typing import Literal

import msgspec

Unit = Literal["percent", "points", "count", "dollars", "seconds", "value"]


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A 95 % interval and how it was made; `pairs` is the number of seeds or questions, `p` the two-sided p value."""

    low: float
    high: float
    method: str
    pairs: int
    p: float | None = None


class Cell(msgspec.Struct, frozen=True, kw_only=True, tag="cell"):
    """The mean of `n` runs, its standard deviation (None for one run), and an interval where something is compared."""

    mean: float
    sd: float | None
    n: int
    unit: Unit = "percent"
    interval: Interval | None = None
    best: bool = False


class Gap(msgspec.Struct, frozen=True, kw_only=True, tag="gap"):
    """A cell without data; `command` would fill it ("" where nothing could, as with a count of nothing)."""

    command: str = ""


Entry = Cell | Gap | str


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column's name, and that of the columns that it stands together with ("" if it stands alone)."""

    name: str
    group: str = ""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table: `place` says which of the paper's it is, `measure` what its numbers are."""

    name: str
    title: str
    place: str
    measure: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether no cell of it holds a number or (in a table of words) anything at all."""
        return not any(isinstance(entry, Cell) for row in self.rows for entry in row) and not (
            self.rows and all(isinstance(entry, str) for row in self.rows for entry in row)
        )

    @property
    def keys(self) -> int:
        """Return how many columns, from the left, say what a row is: those of words before the first number."""
        words = [all(isinstance(row[at], str) for row in self.rows) for at in range(len(self.columns))]
        return words.index(False) if self.rows and False in words[1:] and words[0] else 1


def columns(*names: str, group: str = "") -> tuple[Column, ...]:
    """Return columns of these names, all of one group."""
    return tuple(Column(name=name, group=group) for name in names)


def with_best(row: tuple[Entry, ...], places: range) -> tuple[Entry, ...]:
    """Return the row with its highest mean among these places marked as the best; nothing where only one is filled."""
    filled = [(entry.mean, -at) for at in places if isinstance(entry := row[at], Cell)]
    if len(filled) < 2:
        return row
    best = -max(filled)[1]
    return tuple(
        msgspec.structs.replace(entry, best=True) if at == best and isinstance(entry, Cell) else entry
        for at, entry in enumerate(row)
    )
