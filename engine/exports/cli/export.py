"""`mage-es export`: a run's events as Parquet, CSV or JSON Lines, as traces of OpenTelemetry, or as a data set; or its
exams as logs of Inspect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings
from mage_es.events.errors import UsageError

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run

EXAMPLES = examples(
    "mage-es export --format parquet --to events",
    "mage-es export RUN --format csv --to /tmp/events --until iter-3",
    "mage-es export RUN --format otlp --endpoint http://localhost:4318",
    "mage-es export RUN --format hf --to dataset",
    "mage-es export RUN --format inspect --to logs",
)


@takes("runs_dir")
def export(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    format: Annotated[
        Literal["parquet", "csv", "jsonl", "otlp", "hf", "inspect"],
        typer.Option(
            help="Format of the files; otlp: traces and events of OpenTelemetry; hf: a data set with a card; "
            "inspect: logs of Inspect."
        ),
    ],
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="New or empty folder for the files.", show_default=False)
    ] = None,
    until: Annotated[
        str, typer.Option(metavar="MARKER", help="Last event: start, iter-9, seq:1234, latest.")
    ] = "latest",
    endpoint: Annotated[
        str, typer.Option(metavar="URL", help="With otlp: address of a collector, such as http://localhost:4318.")
    ] = "",
    texts: Annotated[
        bool, typer.Option("--texts", help="With otlp: also questions, prompts, replies and memories.")
    ] = False,
    gold: Annotated[bool, typer.Option("--gold", help="With hf: also the right answers of all questions.")] = False,
) -> None:
    """Export a run's events for other programs.

    Writes one file for each event type (JSON Lines: one for all), and a SCHEMA.md that explains every column. With
    `--format otlp` a question is a trace with its calls, searches and verdict, by the semantic conventions for
    generative AI: as JSON lines, or sent to `--endpoint`. The run's exams are in it.

    With `--format hf` the folder is a data set of the Hugging Face Hub: questions by split, memories, answers and the
    conversations as session traces, which `datasets.load_dataset` reads from disk. With `--format inspect` each exam is
    an `.eval` file, with questions, answers and prompts, that `inspect view` opens.
    """
    found = settings.find_run(run)
    if gold and format != "hf":
        raise UsageError(f"--gold belongs to --format hf, not to {format}.")
    if format == "otlp":
        _as_otlp(found, out, to, endpoint, until, texts=texts)
    elif endpoint or texts:
        raise UsageError(f"--endpoint and --texts belong to --format otlp, not to {format}.")
    elif to is None:
        raise UsageError("Name a new or empty folder for the files: --to FOLDER.")
    elif format == "hf":
        _as_data_set(found, out, to, until, gold=gold)
    elif format == "inspect":
        _as_inspect(found, out, to, until)
    else:
        _as_files(found, out, to, format, until)
    out.next(settings.again("verify", found.id))


def _as_files(run: Run, out: Output, to: Path, format: Literal["parquet", "csv", "jsonl"], until: str) -> None:
    from mage_es.engine.exports.event_files import export as export_log
    from mage_es.events.log import LogReader

    reader = LogReader(run.log_path, opened=False)
    report = export_log(reader, to, format=format, until=reader.resolve(until))
    title = f"Events 1 to {report.until} of {run.id} in {to}"
    out.report(report, TextTable(title, ("file", "rows"), list(report.files.items())))
    out.say(f"\n{to / 'SCHEMA.md'} explains every column.")


def _as_otlp(run: Run, out: Output, to: Path | None, endpoint: str, until: str, *, texts: bool) -> None:
    from mage_es.engine.exports.otlp import export_otlp

    report = export_otlp(run, to, endpoint=endpoint, until=until, texts=texts)
    title = f"Events 1 to {report.until} of {run.id}, and {report.exams} exams, in {report.to}"
    out.report(report, TextTable(title, ("", "number"), [("spans", report.spans), ("verdicts", report.verdicts)]))
    if not report.takes_verdicts:
        out.say(f"{report.to} did not accept the verdicts: some tools only know traces.")


def _as_data_set(run: Run, out: Output, to: Path, until: str, *, gold: bool) -> None:
    from mage_es.engine.exports.hf import export_hf

    report = export_hf(run, to, until=until, gold=gold)
    title = f"Events 1 to {report.until} of {report.run}, and {report.exams} exams, in {report.path}"
    out.report(report, TextTable(title, ("file", "rows"), [*report.rows.items(), ("traces", report.traces)]))
    if report.left_out:
        out.say(f"\n{report.left_out} rows with texts of subjects are left out.")
    if report.licence == "unknown":
        out.say(f"\nName the licence of the questions in {to / 'README.md'} before you publish it.")


def _as_inspect(run: Run, out: Output, to: Path, until: str) -> None:
    from mage_es.engine.exports.inspect_logs import export_inspect

    report = export_inspect(run, to, until=until)
    rows = [(each.file, each.samples, f"{each.correct}/{each.decided}") for each in report.logs]
    out.report(report, TextTable(f"Exams of {run.id} in {to}", ("file", "samples", "right"), rows))
    out.say(f"\ninspect view --log-dir {to}")
