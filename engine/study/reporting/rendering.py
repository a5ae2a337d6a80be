"""Tables as text, CSV, Markdown and LaTeX; what was not measured is a dash."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Literal

from mage_es.engine.study.reporting.cells import Cell, Entry, StudyTable, TableColumn, Unit

TableFormat = Literal["text", "csv", "markdown", "latex"]

DASH = "-"
_DIGITS: Mapping[Unit, int] = {"percent": 1, "points": 1, "count": 1, "dollars": 4, "seconds": 3, "value": 3}
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        **{each: f"\\{each}" for each in "&%$#_{}"},
    }
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
    found = {entry.n for row in table.rows for entry in row if isinstance(entry, Cell) and entry.sd is not None}
    return found.pop() if len(found) == 1 else None


def heads_of(table: StudyTable) -> tuple[str, ...]:
    """Return one name for each column, prefixed by its group if another column has the same name."""
    names = [column.name for column in table.columns]
    return tuple(
        f"{column.group}: {column.name}" if names.count(column.name) > 1 and column.group else column.name
        for column in table.columns
    )


def notes_of(table: StudyTable) -> list[str]:
    """Return the notes of a table, and the method of its intervals."""
    cells = [entry for row in table.rows for entry in row if isinstance(entry, Cell)]
    notes = list(table.notes)
    if (n := common_n(table)) is not None:
        notes.append(f"n = {n} for every mean with a deviation.")
    for method in dict.fromkeys(cell.interval.method for cell in cells if cell.interval):
        pairs = sorted({c.interval.pairs for c in cells if c.interval and c.interval.method == method})
        across = f"{pairs[0]} to {pairs[-1]}" if len(pairs) > 1 else str(pairs[0])
        notes.append(f"[ , ]: 95 % interval ({method}, n = {across}).")
    if any(cell.unit == "points" and cell.interval is None and cell.n > 1 for cell in cells):
        notes.append("A difference without an interval is one of means: without common seeds, or over benchmarks.")
    return notes


def render(table: StudyTable, form: TableFormat) -> str:
    """Return a table in a format; what names and messages contain can neither control a terminal nor act as a formula
    or HTML."""
    return "".join(letter for letter in _RENDERERS[form](table) if letter.isprintable() or letter == "\n")


def _text(table: StudyTable) -> str:
    rows = [heads_of(table), *rows_of(table)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([table.title, f"({table.measure}; paper: {table.place})", "", *lines, "", *notes_of(table)]) + "\n"


def _csv(table: StudyTable) -> str:
    """Return a column for each text, and mean, sd, n (with intervals also low, high, p) for each number."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    kinds = [_parts([row[at] for row in table.rows]) for at in range(len(table.columns))]
    heads = zip(heads_of(table), kinds, strict=True)
    writer.writerow([f"{name} {part}".strip() for name, parts in heads for part in parts])
    for row in table.rows:
        writer.writerow([_part(entry, part) for entry, parts in zip(row, kinds, strict=True) for part in parts])
    return out.getvalue()


def _parts(entries: Sequence[Entry]) -> tuple[str, ...]:
    cells = [entry for entry in entries if isinstance(entry, Cell)]
    if not cells and None not in entries:
        return ("",)
    return ("", "sd", "n", "low", "high", "p") if any(cell.interval for cell in cells) else ("", "sd", "n")


def _part(entry: Entry, part: str) -> object:
    if isinstance(entry, str):
        return "" if part else f"'{entry}" if entry.startswith(("=", "+", "-", "@")) and entry != DASH else entry
    if entry is None:
        return ""
    if part in ("low", "high", "p"):
        return getattr(entry.interval, part) if entry.interval else ""
    value = getattr(entry, part or "mean")
    return "" if value is None else value


def _markdown(table: StudyTable) -> str:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(map(_in_markdown, cells)) + " |"

    def bold(entry: Entry, text: str) -> str:
        return f"**{text}**" if isinstance(entry, Cell) and entry.best else text

    ruler = "|" + "|".join("---:" if _is_numeric(table, at) else "---" for at in range(len(table.columns))) + "|"
    lines = [f"**{_in_markdown(table.title)}** ({_in_markdown(table.measure)}; paper: {table.place})", ""]
    lines += [line(heads_of(table)), ruler]
    lines += [line(map(bold, *both)) for both in zip(table.rows, rows_of(table), strict=True)]
    return "\n".join([*lines, "", *(f"- {_note_in_markdown(note)}" for note in notes_of(table))]).rstrip() + "\n"


def _in_markdown(text: str) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").split())


def _note_in_markdown(note: str) -> str:
    """Return a note, keeping what is in backticks literal: no HTML can begin there."""
    parts = note.removeprefix("- ").split("`")
    ends = len(parts) - len(parts) % 2  # an unpaired mark does not begin code
    return "`".join(part if at % 2 and at < ends else part.replace("<", "&lt;") for at, part in enumerate(parts))


def _is_numeric(table: StudyTable, at: int) -> bool:
    return bool(table.rows) and not all(isinstance(row[at], str) for row in table.rows)


def in_latex(text: str) -> str:
    return text.translate(_LATEX).replace("±", r"$\pm$")


def _latex(table: StudyTable) -> str:
    """Return a `table` environment for the packages booktabs and graphicx."""
    layout = "".join("r" if _is_numeric(table, at) else "l" for at in range(len(table.columns)))
    body = [" & ".join(_latex_entry(entry) for entry in row) + r" \\" for row in table.rows]
    lines = [r"\begin{table}[htbp]", r"\centering", r"\small"]
    lines += [f"\\caption{{{in_latex(f'{table.title}: {table.measure}.')}}}", f"\\label{{tab:{table.name}}}"]
    lines += [r"\resizebox{\textwidth}{!}{%", f"\\begin{{tabular}}{{{layout}}}", r"\toprule"]
    lines += [*_latex_groups(table.columns), " & ".join(in_latex(column.name) for column in table.columns) + r" \\"]
    lines += [r"\midrule", *body, r"\bottomrule", r"\end{tabular}%", "}"]
    lines += [f"\\par\\smallskip {{\\footnotesize {_latex_note(note)}}}" for note in notes_of(table)]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _latex_note(note: str) -> str:
    """Return a note with text in backticks set in typewriter type."""
    parts = in_latex(note).split("`")
    return "".join(f"\\texttt{{{part}}}" if at % 2 else part for at, part in enumerate(parts))


def _latex_groups(columns: Sequence[TableColumn]) -> list[str]:
    if not any(column.group for column in columns):
        return []
    cells, rules, at = [], [], 1
    for name, members in groupby(columns, key=lambda column: column.group):
        width = len(list(members))
        cells.append(f"\\multicolumn{{{width}}}{{c}}{{{in_latex(name)}}}")
        rules += [f"\\cmidrule(lr){{{at}-{at + width - 1}}}"] if name else []
        at += width
    return [" & ".join(cells) + r" \\", "".join(rules)]


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
