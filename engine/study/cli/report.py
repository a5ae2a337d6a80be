"""`mage-es report`: the paper's tables and figures from the logs of the runs in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings
from mage_es.events.errors import UsageError

if TYPE_CHECKING:
    from mage_es.engine.study.reporting.cells import StudyTable

EXAMPLES = examples(
    "mage-es report runs",
    "mage-es report runs main ablation --format latex",
    "mage-es report runs --format csv --to tables --figures",
)


@takes("data_dir", "prices")
def report(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="Folder of runs, which may be nested. [default: runs]", show_default=False
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE]...", help="Tables to show. [default: all with data]", show_default=False),
    ] = None,
    *,
    settings: Settings,
    out: Output,
    form: Annotated[
        Literal["text", "csv", "markdown", "latex"], typer.Option("--format", help="Format of the tables.")
    ] = "text",
    to: Annotated[Path | None, typer.Option("--to", help="Folder to write to, one file per table.")] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="Also write the figures to that folder, as SVG, PNG and PDF.")
    ] = False,
) -> None:
    """Report on runs: every table of the paper, from their logs and those of their exams.

    It begins with a few lines in plain words. Numbers are means over seeds, with deviation and n; differences are
    paired by seed or, with one seed, by question. A dash means no data. Tables: main, extension, sequential, cost,
    ablation, ablation-sequential, settings, calls, hotpotqa, metrics, judging, growth, matrix, variance, latency,
    cascade, bundles, recovery.
    """
    from mage_es.engine.study.reporting.figures import drawn
    from mage_es.engine.study.reporting.figures import figures as charts
    from mage_es.engine.study.reporting.rendering import ENDINGS, render
    from mage_es.engine.study.reporting.study import open_study
    from mage_es.engine.study.reporting.tables import WORDS, tables
    from mage_es.engine.study.reporting.words import in_words

    if figures and to is None:
        raise UsageError("--figures writes files: name their folder with --to FOLDER.")
    folder = folder or settings.runs_dir
    study = open_study(folder, prices=settings.prices(), data_dir=settings.data_dir)
    made = tables(study, names or ())
    if form == "csv" and to is None and len(made) != 1 and not out.as_json:
        raise UsageError(f"{len(made)} tables do not fit into one CSV: name one of them, or a folder with --to FOLDER.")
    for note in study.notes:
        out.say(f"Note: {note}")
    if to is not None:
        files = {f"{table.name}.{ENDINGS[form]}": render(table, form).encode() for table in made}
        for name, chart in charts(study).items() if figures else ():
            files |= {f"{name}.{ending}": file for ending, file in drawn(chart).items()}
        to.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (to / name).write_bytes(content)
            out.say(f"{to / name}")
    parts: list[TextTable | str] = []
    if to is None and form == "text":
        parts = [*([] if names else ["\n".join(in_words(study))]), *(part for table in made for part in _parts(table))]
    elif to is None:
        parts = ["\n".join(render(table, form) for table in made).removesuffix("\n")]
    if to is None or out.as_json:
        out.report(made, *parts)
    empty = [name for name in WORDS if name not in {table.name for table in made}]
    if not names and empty:
        out.say(f"\nTables without data: {', '.join(empty)}.")
    again = settings.again("report", str(folder), names=("data_dir", "prices"))
    out.next(f"{again} --format latex --to tables --figures" if to is None else f"{again} --format text")


def _parts(table: StudyTable) -> list[TextTable | str]:
    """Return a table for the terminal, with a line above that says what it measures, and its notes below."""
    from mage_es.engine.study.reporting.rendering import notes_of, rows_of

    about = f"{table.title} ({table.name}; paper: {table.place})\n{table.measure}"
    notes = "\n".join(notes_of(table))
    return [about, TextTable("", table.columns, rows_of(table), keys=table.keys), *([notes] if notes else [])]
