"""Tables as text, CSV, Markdown and LaTeX; what was not measured is a dash."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from mage_es.engine.study.reporting.cells import Cell, Entry, StudyTable, Unit

TableFormat = Literal["text", "csv", "markdown", "latex"]

DASH = "-"
_DIGITS: Mapping[Unit, int] = {"percent": 1, "points": 1, "count": 1, "dollars": 4, "seconds": 3, "value": 3}
_NAMED = {"\\": "textbackslash", "~": "textasciitilde", "^": "textasciicircum", "<": "textless", ">": "textgreater"}
_LATEX = str.maketrans(
    {**{each: f"\\{name}{{}}" for each, name in _NAMED.items()}, **{each: f"\\{each}" for each in "&%$#_{}"}}
)
"""The special characters of LaTeX, escaped."""


def plain(entry: Entry, *, with_n: bool = True) -> str:
    """Return `88.2 ± 2.9 n=5` or `+7.9 ± 1.1 n=5 [+6.5, +9.3]`; for one run only the number."""
    if not isinstance(entry, Cell):
        return DASH if entry is None else entry
    mean, deviation, between = _numbers(entry)
    n = f" n={entry.n}" if with_n else ""
    return mean + (deviation and f" ± {deviation}{n}") + (between and f" {between}")


def _numbers(cell: Cell) -> tuple[str, str, str]:
    """Return mean, deviation and interval with the digits of their unit, "" for none; whole counts have no decimals,
    differences a sign."""
    digits = _DIGITS[cell.unit]
    if cell.unit == "count" and cell.sd is None and float(cell.mean).is_integer():
        digits = 0
    sign = "+" if cell.unit == "points" else ""
    deviation = "" if cell.sd is None else f"{cell.sd:,.{digits}f}"
    ends = (cell.interval.low, cell.interval.high) if cell.interval else ()
    between = ", ".join(f"{end:{sign},.{digits}f}" for end in ends)
    return f"{cell.mean:{sign},.{digits}f}", deviation, between and f"[{between}]"


def rows_of(table: StudyTable) -> list[tuple[str, ...]]:
    """Return the rows as plain texts; if all share one n, that goes into the notes."""
    with_n = common_n(table) is None
    return [tuple(" ".join(plain(entry, with_n=with_n).split("\n")) for entry in row) for row in table.rows]


def common_n(table: StudyTable) -> int | None:
    """Return the number of runs behind every mean with a deviation, None if they differ."""
    found = {cell.n for cell in table.cells if cell.sd is not None}
    return found.pop() if len(found) == 1 else None


def notes_of(table: StudyTable) -> list[str]:
    """Return the notes of a table, and the method of its intervals."""
    notes, methods = list(table.notes), dict[str, set[int]]()
    if (n := common_n(table)) is not None:
        notes.append(f"n = {n} for every mean with a deviation.")
    for between in (cell.interval for cell in table.cells if cell.interval):
        methods.setdefault(between.method, set()).add(between.pairs)
    for method, pairs in methods.items():
        across = " to ".join(map(str, sorted({min(pairs), max(pairs)})))
        notes.append(f"[ , ]: 95 % interval ({method}, n = {across}).")
    if any(cell.unit == "points" and cell.interval is None and cell.n > 1 for cell in table.cells):
        notes.append("A difference without an interval is one of means: no common seeds, or several benchmarks.")
    return notes


def render(table: StudyTable, form: TableFormat) -> str:
    """Return a table in a format; what names and messages contain can neither control a terminal nor act as a formula
    or HTML."""
    return "".join(letter for letter in _RENDERERS[form](table) if letter.isprintable() or letter == "\n")


def _text(table: StudyTable) -> str:
    rows = [table.columns, *rows_of(table)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([table.title, f"({table.measure}; paper: {table.place})", "", *lines, "", *notes_of(table)]) + "\n"


def _csv(table: StudyTable) -> str:
    """Return a column for each text, and mean, sd, n (with intervals also low, high, p) for each number."""
    columns = list[list[object]]()
    for at, name in enumerate(table.columns):
        entries = [row[at] for row in table.rows]
        compared = ("low", "high", "p") if any(isinstance(e, Cell) and e.interval for e in entries) else ()
        for part in ("", "sd", "n", *compared) if table.is_number(at) else ("",):
            columns.append([f"{name} {part}".strip(), *(_part(entry, part) for entry in entries)])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(zip(*columns, strict=True))
    return out.getvalue()


def _part(entry: Entry, part: str) -> object:
    if isinstance(entry, Cell):  # None is written as nothing
        return getattr(entry.interval, part, None) if part in ("low", "high", "p") else getattr(entry, part or "mean")
    text = "" if part or entry is None else entry
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) and text != DASH else text


def _markdown(table: StudyTable) -> str:
    def escaped(text: str) -> str:
        return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").split())

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(map(escaped, cells)) + " |"

    ruler = "|" + "|".join("---:" if table.is_number(at) else "---" for at in range(len(table.columns))) + "|"
    lines = [f"**{escaped(table.title)}** ({escaped(table.measure)}; paper: {table.place})", ""]
    lines += [line(table.columns), ruler]
    for row, texts in zip(table.rows, rows_of(table), strict=True):
        best = (isinstance(entry, Cell) and entry.best for entry in row)
        lines.append(line(f"**{text}**" if bold else text for bold, text in zip(best, texts, strict=True)))
    # No HTML begins in a note; what is in backticks stays as it is.
    notes = (re.sub("(`[^`]*`)|<", lambda found: found[1] or "&lt;", note) for note in notes_of(table))
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)]).rstrip() + "\n"


def in_latex(text: str) -> str:
    return text.translate(_LATEX).replace("±", r"$\pm$")


def _latex(table: StudyTable) -> str:
    """Return a `table` environment for the packages booktabs and graphicx."""
    layout = "".join("r" if table.is_number(at) else "l" for at in range(len(table.columns)))
    lines = [r"\begin{table}[htbp]", r"\centering", r"\small"]
    lines += [f"\\caption{{{in_latex(f'{table.title}: {table.measure}.')}}}", f"\\label{{tab:{table.name}}}"]
    lines += [r"\resizebox{\textwidth}{!}{%", f"\\begin{{tabular}}{{{layout}}}", r"\toprule"]
    lines += [" & ".join(map(in_latex, table.columns)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(_latex_entry, row)) + r" \\" for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}%", "}"]
    for note in notes_of(table):
        parts = enumerate(map(in_latex, re.split("`([^`]*)`", note)))  # every second one was in backticks
        text = "".join(f"\\texttt{{{part}}}" if at % 2 else part for at, part in parts)
        lines.append(f"\\par\\smallskip {{\\footnotesize {text}}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _latex_entry(entry: Entry) -> str:
    if not isinstance(entry, Cell):
        return "---" if entry is None else in_latex(entry)
    mean, deviation, between = _numbers(entry)
    mean, deviation = (number.replace(",", "{,}") for number in (mean, deviation))
    mean = f"\\mathbf{{{mean}}}" if entry.best else mean
    spread = deviation and f" \\pm {deviation}_{{n={entry.n}}}"
    return f"${mean}{spread}$" + (between and f" {{\\scriptsize ${between}$}}")


_RENDERERS: Mapping[TableFormat, Callable[[StudyTable], str]] = {
    "text": _text,
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
}
ENDINGS: Mapping[TableFormat, str] = {"text": "txt", "csv": "csv", "markdown": "md", "latex": "tex"}
"""The ending of a table's file in each format."""
