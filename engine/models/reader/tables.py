"""Reading a figure off a pipe table, and the one operation on two figures that a question's words name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mage_es.engine.models.reader.passages import words

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")

Row = tuple[str, tuple[float, ...]]


def calculate(question: str, passage: str) -> str:
    """Return the figure that a question asks for, "" where the passage has no table or no row like it."""
    header, rows = _table(passage)
    if not rows:
        return ""
    asked = words(question)
    name, cells = max(rows, key=lambda row: len(asked & words(row[0])))
    if not asked & words(name) or not cells:
        return ""
    years = [_column(header, year) for year in _YEAR.findall(question)]
    picked = [cells[at] for at in years if 0 <= at < len(cells)] or list(cells[:2])
    if len(picked) == 1:
        picked = [*picked, *(cell for cell in cells if cell != picked[0])][:2]
    value = _operated(question.casefold(), picked)
    return "" if value is None else f"{value:.5f}".rstrip("0").rstrip(".")


def _operated(question: str, picked: Sequence[float]) -> float | None:
    first, second = (*picked, 0.0)[:2]
    earlier, later = second, first  # tables of filings begin with the newest year
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


def _figures(cells: Sequence[str]) -> tuple[float, ...]:
    found = (_NUMBER.search(cell.replace("$", "")) for cell in cells)
    return tuple(float(match[0].replace(",", "")) for match in found if match)


def _column(header: Sequence[str], year: str) -> int:
    return next((at for at, cell in enumerate(header) if year in cell), -1)
