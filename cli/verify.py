"""`mage-es verify`: check a run's hashes, its splits and what it claims."""

from __future__ import annotations

from typing import Annotated

import typer

from mage_es.cli.options import Json, RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.cli.tables import checks
from mage_es.events.errors import MageError

EXAMPLES = examples("mage-es verify", "mage-es verify RUN --head 5c0f0e8a9d1b7f43", "mage-es verify RUN --json")

Head = Annotated[
    str | None,
    typer.Option(
        metavar="HASH",
        help="A head printed earlier, or at least its first 16 digits: the log must still be the one that had it.",
        show_default=False,
    ),
]


@takes("runs_dir")
def verify(run: RunArgument = None, *, head: Head = None, settings: Settings, as_json: Json = False) -> None:
    """Verify every byte of a run and what it claims.

    Exits with 1 if a check fails.
    """
    from mage_es.engine.audit import verify as verify_run
    from mage_es.engine.runs import find_run

    out = Output(as_json=as_json)
    report = verify_run(find_run(settings.runs_dir, run), head=head)
    out.report(report, checks(f"Run {report.run_id}", report.checks), f"head {report.head}")
    if not report.ok:
        out.say("Restore what is named above from a copy of the run, then verify it again.")
        is_damaged = any(check.name == "log" and not check.ok for check in report.checks)
        ways = ("verify", "repair") if is_damaged else ("verify",)
        out.next(*(settings.again(way, report.run_id) for way in ways))
        raise typer.Exit(MageError.exit_code)
    out.next(settings.again("runs", "show", report.run_id))
