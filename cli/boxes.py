"""Tables on a terminal, in boxes; one that is too wide even with folded texts is printed row by row.

Rules
    - No number is cut and no column left out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

PROSE = 30
"""Least width, in characters, to which a column of texts may be folded."""
BESIDE = 3
"""Characters that a box puts between two columns."""


class Boxed(NamedTuple):
    """A table of clean cells; `right` marks the columns set flush right, the first `keys` columns name a row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[bool]
    keys: int


def print_boxed(table: Boxed) -> None:
    """Print a table no wider than the terminal, unless a single word is wider."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    console = Console()
    cells = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    least = list(map(_least, table.columns, cells))
    if table.rows and sum(least) + BESIDE * len(cells) >= console.width:
        _print_rows(table, room=console.width - 1)
        return
    whole = sum(max(map(len, (head, *column))) + BESIDE for head, column in zip(table.columns, cells, strict=True))
    heads = table.columns if whole < console.width else map(_folded, table.columns, least)
    grid = Grid(title=Text(table.title), title_justify="left", box=box.SIMPLE_HEAD)
    for head, column, flush in zip(heads, cells, table.right, strict=True):
        is_fixed = max(map(len, column), default=0) <= PROSE
        grid.add_column(Text(head), justify="right" if flush else "left", overflow="fold", no_wrap=is_fixed)
    for row in table.rows:
        grid.add_row(*map(Text, row))
    console.print(grid)


def _print_rows(table: Boxed, *, room: int) -> None:
    """Print each row on its own: its keys, then a line for each other column."""
    names = max((len(name) for name in table.columns[table.keys :]), default=0)
    for number, row in enumerate(table.rows):
        print(table.title if not number else "")
        print(textwrap.fill(", ".join(cell for cell in row[: table.keys] if cell), room))
        for name, cell in list(zip(table.columns, row, strict=True))[table.keys :]:
            print(textwrap.fill(cell, room, initial_indent=f"  {name:<{names}}  ", subsequent_indent=" " * (names + 4)))


def _folded(head: str, width: int) -> str:
    return "\n".join(textwrap.wrap(head, width))


def _least(head: str, cells: Sequence[str]) -> int:
    """Return the least readable width of a column: its head folds at spaces, its cells only if they are texts."""
    longest = max(map(len, cells), default=0)
    return max(*map(len, head.split()), 1, min(longest, PROSE) if any(" " in cell for cell in cells) else longest)
