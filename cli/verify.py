"""`mage-es verify`: check a run's hashes, its splits and its theorems."""

from __future__ import annotations

from typing import Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.cli.tables import checks, exams
from mage_es.events.errors import MageError

EXAMPLES = examples("mage-es verify", "mage-es verify RUN --head 5c0f0e8a9d1b7f43", "mage-es verify RUN --json")


@takes("runs_dir")
def verify(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    head: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="A head printed earlier (16 digits or more) that the log must still hold."),
    ] = None,
) -> None:
    """Verify every byte of a run and every theorem on its log. Exits with 1 if a check fails."""
    from mage_es.engine.verbs.verify import verify as verify_run

    report = verify_run(settings.find_run(run), head=head)
    out.report(report, checks(f"Run {report.run_id}", report.checks), *exams(report.exams), f"head {report.head}")
    if not report.ok:
        out.say("Restore the run from a backup, then verify it again.")
        is_damaged = any(check.name == "log" and not check.ok for check in report.checks)
        ways = ("verify", "repair") if is_damaged else ("verify",)
        out.next(*(settings.again(way, report.run_id) for way in ways))
        raise typer.Exit(MageError.exit_code)
    out.next(settings.again("runs", "show", report.run_id))
