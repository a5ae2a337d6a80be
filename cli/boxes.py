"""Tables on a terminal, in boxes; a wide one is folded, then split into parts, then printed row by row.

Rules
    - Numbers are never cut and columns never dropped: columns that do not fit move into a second part below the first.
    - Every part of a table starts with its key columns.
    - Where even that does not fit, long words are folded too; on a terminal too narrow for that, rows are printed one
      by one.
    - Verdicts have colours on a terminal; rich leaves them out for `NO_COLOR`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console

PROSE = 30
"""The least width, in characters, that a column of long texts may be folded to."""
NAME = 12
"""The same for a key column."""
BESIDE = 3
"""How many characters a box puts between two columns."""


COLOURS = {
    **dict.fromkeys(("ok", "yes", "accepted", "finished", "correct", "present"), "green"),
    **dict.fromkeys(("unfinished", "optional", "missing", "soft_rollback", "quarantined", "differs"), "yellow"),
    **dict.fromkeys(("FAILED", "failed", "NO", "damaged", "hard_rollback", "wrong"), "red"),
}
"""Colours of cells that hold a verdict."""


class Boxed(NamedTuple):
    """A table of clean cells; `right` marks the columns that are right-aligned; the first `keys` columns name a row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[bool]
    keys: int


def print_boxed(table: Boxed) -> None:
    """Print a table no wider than the terminal, unless a single word is wider."""
    from rich.console import Console

    console = Console()
    room = console.width - 1
    cells = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    whole = [max(map(len, (head, *column))) for head, column in zip(table.columns, cells, strict=True)]
    if _needed(whole) <= room or not table.rows:
        _print_part(console, table, range(len(whole)), heads=table.columns)
        return
    least = [
        _least(head, column, PROSE if at >= table.keys else NAME)
        for at, (head, column) in enumerate(zip(table.columns, cells, strict=True))
    ]
    if not _fits(least, keys=table.keys, room=room):
        least = [min(width, PROSE if at >= table.keys else NAME) for at, width in enumerate(least)]
    if not _fits(least, keys=table.keys, room=room):
        _print_rows(table, room=room)
        return
    heads = [textwrap.wrap(head, max(width, 1)) for head, width in zip(table.columns, least, strict=True)]
    title = table.title
    for part in _parts(least, keys=table.keys, room=room):
        height = max(len(heads[at]) for at in part)
        lowered = ["\n".join([*[""] * (height - len(head)), *head]) for head in heads]
        _print_part(console, table._replace(title=title), part, heads=lowered)
        title = ""


def _print_part(console: Console, table: Boxed, part: Sequence[int], *, heads: Sequence[str]) -> None:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(title=Text(table.title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD)
    for at in part:
        longest = max((len(row[at]) for row in table.rows), default=0)
        justify: Literal["left", "right"] = "right" if table.right[at] else "left"
        is_fixed = longest <= (PROSE if at >= table.keys else NAME)
        grid.add_column(Text(heads[at]), justify=justify, overflow="fold", no_wrap=is_fixed)
    for row in table.rows:
        grid.add_row(*(Text(row[at], style=COLOURS.get(row[at].partition(":")[0], "")) for at in part))
    console.print(grid)


def _print_rows(table: Boxed, *, room: int) -> None:
    """Print each row on its own: its keys, then a line for each other column."""
    names = max((len(name) for name in table.columns[table.keys :]), default=0)
    for number, row in enumerate(table.rows):
        print(table.title if not number else "")
        print(textwrap.fill(", ".join(cell for cell in row[: table.keys] if cell), room))
        for name, cell in list(zip(table.columns, row, strict=True))[table.keys :]:
            print(textwrap.fill(cell, room, initial_indent=f"  {name:<{names}}  ", subsequent_indent=" " * (names + 4)))


def _least(head: str, cells: Sequence[str], prose: int) -> int:
    """Return the smallest readable width of a column: its head folds at spaces, its cells only if they are long
    texts."""
    longest = max(map(len, cells), default=0)
    foldable = prose if any(" " in cell for cell in cells) else longest
    return max(*map(len, head.split()), 1, min(longest, foldable))


def _fits(widths: Sequence[int], *, keys: int, room: int) -> bool:
    """Return whether the key columns fit beside the widest of the others."""
    return _needed([*widths[:keys], *sorted(widths[keys:])[-1:]]) <= room


def _needed(widths: Sequence[int]) -> int:
    return sum(width + BESIDE for width in widths)


def _parts(widths: Sequence[int], *, keys: int, room: int) -> list[list[int]]:
    """Return the columns of each part of a table, so that every part fits."""
    leading = list(range(keys))
    parts = [leading.copy()]
    for at in range(keys, len(widths)):
        if len(parts[-1]) > keys and _needed([widths[column] for column in (*parts[-1], at)]) > room:
            parts.append(leading.copy())
        parts[-1].append(at)
    return parts
