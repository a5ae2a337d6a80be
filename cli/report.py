"""`mage-es report`: the paper's tables and figures from the logs of the runs in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mage_es.cli.options import Json, examples, takes
from mage_es.cli.output import Output, Table
from mage_es.cli.settings import Settings
from mage_es.events.errors import UsageError

if TYPE_CHECKING:
    from mage_es.engine.reporting.cells import Table as Reported

EXAMPLES = examples(
    "mage-es report runs",
    "mage-es report runs main ablation --format latex",
    "mage-es report runs --format csv --to tables --figures",
)


@takes("data_dir", "prices")
def report(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="Folder of runs, also below others. [default: runs]", show_default=False),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE]...", help="Tables; left out, all that have data.", show_default=False),
    ] = None,
    *,
    settings: Settings,
    form: Annotated[
        Literal["text", "csv", "markdown", "latex"], typer.Option("--format", help="Form of the tables.")
    ] = "text",
    to: Annotated[Path | None, typer.Option("--to", help="Folder to write one file into for each table.")] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="Write the figures, as SVG, into the same folder.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Report on runs: every table of the paper, from what their logs and those of their exams say.

    Means over seeds with deviation and n; differences are paired, by seed or, with one seed, by question. What has no
    data is a dash, and the command that would fill it stands below. Tables: main, extension, sequential, cost,
    ablation, ablation-sequential, settings, calls, hotpotqa, metrics, judging, growth, matrix, variance, latency,
    cascade, bundles, recovery.
    """
    from mage_es.engine.pricing import read_prices
    from mage_es.engine.reporting.rendering import render
    from mage_es.engine.reporting.study import open_study
    from mage_es.engine.reporting.tables import TABLES, beginnings, tables

    if figures and to is None:
        raise UsageError("--figures writes files: say into which folder with --to FOLDER.")
    out, folder = Output(as_json=as_json), folder or settings.runs_dir
    study = open_study(folder, prices=read_prices(settings.prices), data_dir=settings.data_dir)
    made = tables(study, names or ())
    if form == "csv" and to is None and len(made) != 1 and not as_json:
        raise UsageError(f"{len(made)} tables do not fit into one CSV: name one, or a folder with --to FOLDER.")
    for note in study.notes:
        out.say(f"Note: {note}")
    if to is not None:
        _write(out, to, {f"{table.name}.{_ending(form)}": render(table, form) for table in made})
        if figures:
            from mage_es.engine.reporting.figures import figures as draw

            _write(out, to, {f"{name}.svg": svg for name, svg in draw(study).items()})
    if as_json:
        out.report(made)
    elif to is None and form == "text":
        out.report(made, *(part for table in made for part in _parts(table)))
    elif to is None:
        out.report(made, "\n".join(render(table, form) for table in made).removesuffix("\n"))
    empty = [name for name in TABLES if name not in {table.name for table in made}]
    if not names and empty:
        out.say("\nWithout data, with what would begin to fill them:")
        for command, tables_ in beginnings(study, empty).items():
            out.say(f"  {', '.join(tables_)}{f': {command}' if command else ''}")
    again = settings.again("report", str(folder), names=("data_dir", "prices"))
    out.next(f"{again} --format latex --to FOLDER --figures" if to is None else f"{again} --format text")


def _parts(table: Reported) -> list[Table | str]:
    """Return a table for the terminal, with what its numbers are above and its notes below."""
    from mage_es.engine.reporting.rendering import heads_of, notes_of, rows_of

    about = f"{table.title} ({table.name}; paper: {table.place})\n{table.measure}"
    notes = "\n".join(notes_of(table))
    return [about, Table("", heads_of(table), rows_of(table), keys=table.keys), *([notes] if notes else [])]


def _ending(form: Literal["text", "csv", "markdown", "latex"]) -> str:
    from mage_es.engine.reporting.rendering import ENDINGS

    return ENDINGS[form]


def _write(out: Output, folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
        out.say(f"{folder / name}")
