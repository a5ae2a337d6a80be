"""`mage-es export`: write a run's events as Parquet, CSV or JSON Lines."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings

EXAMPLES = examples(
    "mage-es export --format parquet --to events", "mage-es export RUN --format csv --to /tmp/events --until iter-3"
)


@takes("runs_dir")
def export(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    format: Annotated[Literal["parquet", "csv", "jsonl"], typer.Option("--format", help="Format of the files.")],
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="New or empty folder for the files.")],
    until: Annotated[
        str, typer.Option("--until", metavar="MARKER", help="Last event: start, iter-9, seq:1234, latest.")
    ] = "latest",
) -> None:
    """Export a run's events for other programs.

    Writes one file for each event type (JSON Lines: one for all), and a SCHEMA.md that explains every column.
    """
    from mage_es.events.care import export as export_log
    from mage_es.events.log import LogReader

    found = settings.find_run(run)
    reader = LogReader(found.log_path, opened=False)
    report = export_log(reader, to, format=format, until=reader.resolve(until))
    rows = [(name, str(count)) for name, count in report.files.items()]
    out.report(report, TextTable(f"Events 1 to {report.until} of {found.id} in {to}", ("file", "rows"), rows))
    out.say(f"\n{to / 'SCHEMA.md'} explains every column.")
    out.next(settings.again("verify", found.id))
