"""Reading a figure off a pipe table, and the one operation on two figures that a question's words name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mage_es.engine.models.reader.passages import words

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")

Row = tuple[str, tuple[float | None, ...]]
"""The name of a row, and its cells; None for one without a figure, so that the others stay below their headings."""


def calculate(question: str, passage: str) -> str:
    """Return the figure that a question asks for, "" where the passage has no table or no row like it."""
    header, rows = _table(passage)
    if not rows:
        return ""
    asked = words(question)
    name, cells = max(rows, key=lambda row: len(asked & words(row[0])))
    if not asked & words(name):
        return ""
    years = sorted(set(_YEAR.findall(question)), reverse=True)  # tables of filings begin with the newest year, too
    columns = [at for year in years if 0 <= (at := _column(header, year)) < len(cells)]
    picked = [cell for at in columns or range(2) if at < len(cells) and (cell := cells[at]) is not None]
    if not picked:
        return ""
    others = (cell for cell in cells if cell is not None and cell != picked[0])
    value = _operated(question.casefold(), picked, next(others, 0.0))
    return "" if value is None else f"{value:.5f}".rstrip("0").rstrip(".")


def _operated(question: str, picked: Sequence[float], other: float) -> float | None:
    """Return what the question's words make of the figures picked; of one alone with another of its row."""
    first, second = (*picked, other)[:2]
    earlier, later = second, first
    if "average" in question:
        return sum(picked) / len(picked)
    if "total" in question or "sum" in question:
        return sum(picked)
    if re.search(r"percent\w* (?:change|increase|decrease|decline)|growth", question):
        return (later - earlier) / earlier if earlier else None
    if re.search(r"change|difference|increase|decrease|decline", question):
        return later - earlier
    if re.search(r"portion|percent|ratio|share", question):
        return first / second if second else None
    return first


def _table(passage: str) -> tuple[list[str], list[Row]]:
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
