"""Reading figures off a pipe table, and the one operation on two of them that a question's words name.

A part of a whole takes two rows: the second one matches the remaining words, or is a total, and the smaller figure is
the part. Every other operation takes two figures of one row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mage_es.engine.standins.reader.passages import words

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_OPERATIONS = {
    "average": re.compile("average"),
    "relative change": re.compile(r"percent\w* (?:change|increase|decrease|decline)|growth"),
    "change": re.compile("change|difference|increase|decrease|decline"),
    "part": re.compile("portion|percent|ratio|share"),
    "total": re.compile("total|sum"),
}
"""Operations in the order of looking for them; `total` comes last because it may only name a row."""
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")

TableRow = tuple[str, tuple[float | None, ...]]
"""The name of a row, and its cells; None for a cell without a figure, so that the others stay in their columns."""


def calculate(question: str, passage: str) -> str:
    """Return "" if the passage has no table or no row for it."""
    header, rows = _table(passage)
    if not rows:
        return ""
    asked = words(question)
    name, cells = max(rows, key=lambda row: len(asked & words(row[0])))
    if not asked & words(name):
        return ""
    years = sorted(set(_YEAR.findall(question)), reverse=True)  # tables of filings begin with the newest year, too
    columns = [at for year in years if 0 <= (at := _column(header, year)) < len(cells)]
    if len(columns) < 2 and _operation(question) == "part":
        part = _part(rows, rows.index((name, cells)), asked, column=columns[0] if columns else 0)
        if part is not None:
            return _print(part)
    picked = [cell for at in columns or range(2) if at < len(cells) and (cell := cells[at]) is not None]
    if not picked:
        return ""
    others = (cell for cell in cells if cell is not None and cell != picked[0])
    value = _operated(_operation(question), picked, next(others, 0.0))
    return "" if value is None else _print(value)


def _operation(question: str) -> str:
    text = question.casefold()
    return next((name for name, words_of in _OPERATIONS.items() if words_of.search(text)), "")


def _part(rows: Sequence[TableRow], at: int, asked: frozenset[str], *, column: int) -> float | None:
    left = asked - words(rows[at][0])
    others = [row for number, row in enumerate(rows) if number != at and (left | {"total"}) & words(row[0])]
    if not others:
        return None
    other = max(others, key=lambda row: (len(left & words(row[0])), "total" in words(row[0])))
    figures = [abs(row[1][column] or 0.0) for row in (rows[at], other) if column < len(row[1])]
    return min(figures) / max(figures) if len(figures) == 2 and all(figures) else None


def _operated(operation: str, picked: Sequence[float], other: float) -> float | None:
    """`other` is the second figure if only one was picked."""
    first, second = (*picked, other)[:2]
    earlier, later = second, first
    match operation:
        case "average":
            return sum(picked) / len(picked)
        case "total":
            return sum(picked)
        case "relative change":
            return (later - earlier) / earlier if earlier else None
        case "change":
            return later - earlier
        case "part":
            return first / second if second else None
        case _:
            return first


def _print(value: float) -> str:
    return f"{value:.5f}".rstrip("0").rstrip(".")


def _table(passage: str) -> tuple[list[str], list[TableRow]]:
    lines = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in passage.splitlines() if line.startswith("|")
    ]
    if len(lines) < 3:
        return [], []
    return lines[0][1:], [(cells[0], _figures(cells[1:])) for cells in lines[2:]]


def _figures(cells: Sequence[str]) -> tuple[float | None, ...]:
    found = (_NUMBER.search(cell.replace("$", "")) for cell in cells)
    return tuple(float(match[0].replace(",", "")) if match else None for match in found)


def _column(header: Sequence[str], year: str) -> int:
    return next((at for at, cell in enumerate(header) if year in cell), -1)
