"""`mage-es verify`: check a run's hashes, its splits and its theorems."""

from pathlib import Path
from typing import Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.cli.tables import checks, exams, grounds
from mage_es.events.errors import LogDamaged, MageError

EXAMPLES = examples(
    "mage-es verify",
    "mage-es verify RUN --head 5c0f0e8a9d1b7f43",
    "mage-es verify RUN --key example.org/audit+KEY",
    "mage-es verify RUN --json",
)


@takes("runs_dir", "data_dir")
def verify(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    head: Annotated[
        str | None,
        typer.Option(
            metavar="HASH|FILE",
            help="A head printed earlier (16 digits or more), or a file of a signed one, that the log must still hold.",
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY", help="Verifier key that must have signed or cosigned a head; several in several --key."
        ),
    ] = None,
    parent: Annotated[
        Path | None,
        typer.Option("--parent", metavar="FOLDER", help="The run that this one goes on from, to compare it with."),
    ] = None,
) -> None:
    """Verify every byte of a run and every theorem on its log, and score every answer again.

    A doubt fails nothing: its detail says what is odd, or could not be checked here. Exits with 5 if bytes are not what
    was written, with 1 if another check fails.
    """
    from mage_es.engine.theorems.target_leaks import NAME as TARGET_LEAKS
    from mage_es.engine.verbs.verify import verify as verify_run

    report = verify_run(settings.find_run(run), head=head, keys=key or (), parent=parent, data_dir=settings.data_dir)
    head_line = [f"head {report.head}"] if report.head else []  # unknown where the end of the log is damaged
    out.report(
        report,
        checks(f"Run {report.run_id}", report.checks),
        *exams(report.exams),
        *grounds(report.grounds),
        *head_line,
    )
    if not report.ok:
        failed = {check.name for check in report.checks if not check.ok}
        if failed == {TARGET_LEAKS}:
            out.next(settings.again("runs", "show", report.run_id))
            raise typer.Exit(MageError.exit_code)
        if failed != {"keys"}:  # which no backup has
            out.say("Restore the run from a backup, then verify it again.")
        damaged = [check.name for check in report.checks if check.damaged]
        ways = ("verify", "repair") if "log" in damaged else ("verify",)
        out.next(*(settings.again(way, report.run_id) for way in ways))
        raise typer.Exit(LogDamaged.exit_code if damaged else MageError.exit_code)
    out.next(settings.again("runs", "show", report.run_id))
