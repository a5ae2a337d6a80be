"""`mage-es export`: write a run's events as Parquet, CSV or JSON Lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from mage_es.cli.options import Json, RunArgument, examples, takes
from mage_es.cli.output import Output, Table
from mage_es.cli.settings import Settings

EXAMPLES = examples(
    "mage-es export --format parquet --to events",
    "mage-es export RUN --format csv --to /tmp/events --until iter-3",
)


@takes("runs_dir")
def export(
    run: RunArgument = None,
    *,
    settings: Settings,
    format: Annotated[Literal["parquet", "csv", "jsonl"], typer.Option("--format", help="Kind of files to write.")],
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="New or empty folder for the files.")],
    until: Annotated[
        str, typer.Option("--until", metavar="MARKER", help="Last event: start, iter-9, seq:1234, latest.")
    ] = "latest",
    as_json: Json = False,
) -> None:
    """Export a run's events for other programs.

    One file for each event type (JSON Lines: one for all), and a SCHEMA.md that explains every column."""
    from mage_es.engine.runs import find_run
    from mage_es.events.export import export as export_log
    from mage_es.events.reader import LogReader

    out = Output(as_json=as_json)
    found = find_run(settings.runs_dir, run)
    reader = LogReader(found.log_path)
    report = export_log(reader, to, format=format, until=reader.resolve(until))
    rows = [(name, str(count)) for name, count in report.files.items()]
    out.report(report, Table(f"Events 1 to {report.until} of {found.id} in {to}", ("file", "rows"), rows))
    out.say(f"\n{to / 'SCHEMA.md'} explains every column.")
    out.next(settings.again("verify", found.id))
