"""Where a command's words go: data to stdout, everything meant for people to stderr.

Rules
    - Whatever came from a model, a memory or a data set passes `clean` before it reaches a terminal, and is never
      read as markup; so do errors, tracebacks among them.
    - With `--json` stdout holds exactly one JSON document. It says everything as it is recorded, but spells out what a
      terminal would obey, so that it can be looked at, too.
    - Colours and boxes only on a terminal; `NO_COLOR` is honoured (by rich); otherwise plain aligned lines.
    - On a terminal a table that is too wide stands there in parts, each with the first column, and no number is cut.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor, erase; also with their eight-bit form
    # Operating system commands, device controls and other strings: titles, links, clipboard, graphics.
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\n]*?(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"  # character sets
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # everything but tab and newline; a carriage return would overwrite the line
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that reorder what is shown
    "\ud800-\udfff]"  # half characters, which no terminal can be sent
)


def clean(text: str) -> str:
    """Return the text without terminal escape sequences, control characters and direction marks."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def in_json(document: object, *, indent: int = -1) -> str:
    """Return a document as JSON, in one line unless indented; what `clean` would take out is spelled out in it."""
    encoded = msgspec.json.format(msgspec.json.encode(document), indent=indent).decode()
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", encoded)


_NUMBER = re.compile(r"[+-]?\d[\d.,/:]*(?=\s|$)")
"""A number with or without its unit; an id that begins with a digit is none."""

_PROSE = 30
"""Characters down to which a column of wider cells may be folded."""

_BESIDE = 3
"""Characters between two columns of a table on a terminal."""


class Table(NamedTuple):
    """Rows under column names. A column whose cells all start with a number is set flush right."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class Output:
    """The two streams of a command. `as_json`: one JSON document on stdout instead of tables and text."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json

    def report(self, document: object, *parts: Table | str) -> None:
        """Print a result: as JSON its struct, else the tables and texts that show it."""
        if self.as_json:
            print(in_json(document, indent=2))
            return
        for number, part in enumerate(parts):
            if number:
                print()
            print(clean(part)) if isinstance(part, str) else _print_table(part)

    def say(self, text: str) -> None:
        """Tell the person at the terminal something."""
        sys.stdout.flush()
        print(clean(text), file=sys.stderr)

    def next(self, *commands: str) -> None:
        """Name the command that comes next."""
        self.say("\nNext: " + "\n      ".join(commands))


def percent(part: int, whole: int) -> str:
    """Return `54.5 %`, or a dash where nothing was counted."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def is_terminal() -> bool:
    """Return whether stdout is a terminal that can show more than plain lines."""
    return sys.stdout.isatty()


def _print_table(table: Table) -> None:
    rows = [tuple(clean(cell).replace("\n", " ") for cell in row) for row in table.rows]
    right = [bool(rows) and all(_is_number(row[column]) for row in rows) for column in range(len(table.columns))]
    if is_terminal():
        _print_boxed(table, rows, right)
    else:
        _print_plain(table, rows, right)


def _is_number(cell: str) -> bool:
    return cell == "-" or _NUMBER.match(cell) is not None


def _print_plain(table: Table, rows: Sequence[tuple[str, ...]], right: Sequence[bool]) -> None:
    if table.title:
        print(clean(table.title))
    lines = [table.columns, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.columns))]
    for line in lines:
        cells = (
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, widths, right, strict=True)
        )
        print("  ".join(cells).rstrip())


def _print_boxed(table: Table, rows: Sequence[tuple[str, ...]], right: Sequence[bool]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    console, title = Console(), Text(clean(table.title))
    widths = [_widths(cells) for cells in zip(table.columns, *rows, strict=True)]
    for part in _parts([least for least, _ in widths], room=console.width - 1):
        grid = Grid(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        for at in part:
            is_fixed = widths[at][1] <= _PROSE
            justify: Literal["left", "right"] = "right" if right[at] else "left"
            grid.add_column(Text(table.columns[at]), justify=justify, overflow="fold", no_wrap=is_fixed)
        for row in rows:
            grid.add_row(*(Text(row[at]) for at in part))
        console.print(grid)
        title = Text("")


def _widths(cells: Sequence[str]) -> tuple[int, int]:
    """Return the least width that a column can be read in, and the width that it would like to have."""
    wide = max(len(cell) for cell in cells)
    return (min(wide, _PROSE) if any(" " in cell for cell in cells) else wide), wide


def _parts(widths: Sequence[int], *, room: int) -> list[list[int]]:
    """Return the columns of each part of a table such that every part fits; the first column stands in all of them."""
    parts = [[0]]
    for at in range(1, len(widths)):
        used = sum(widths[column] + _BESIDE for column in parts[-1])
        if len(parts[-1]) > 1 and used + widths[at] + _BESIDE > room:
            parts.append([0])
        parts[-1].append(at)
    return parts
