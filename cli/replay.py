"""`mage-es replay`: rebuild a run's state in a new folder and compare it with what was recorded live."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.cli.tables import digests, replayed
from mage_es.engine.seams.plugins import verb
from mage_es.events.errors import MageError

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run

EXAMPLES = examples(
    "mage-es replay --until iter-9", "mage-es replay RUN --until iter-3 --into /tmp/at-3", "mage-es replay --check"
)


@takes("runs_dir")
def replay(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    until: Annotated[
        str, typer.Option(metavar="MARKER", help="Last state to build: start, iter-9, seq:1234, latest.")
    ] = "latest",
    into: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="New folder for the result. [default: a fresh one in the run]")
    ] = None,
    tables: Annotated[
        bool, typer.Option("--tables", help="Also write the memory as LanceDB tables, and compare what they hold.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing: fold every iteration again and compare its digests.")
    ] = False,
) -> None:
    """Rebuild a run's state up to a marker and compare digests.

    Graph, memory, mastery, bandits and the rest are rebuilt without any model. Exits with 1 if a digest differs from
    the one recorded live. With --check every iteration is compared, and the first difference is named with its
    projection and, if possible, its field.
    """
    from mage_es.engine.verbs.replay import replay as rebuild

    found = settings.find_run(run)
    if check:
        _check(found, settings, out)
        return
    report = rebuild(found, until=until, into=into, tables=tables)
    out.report(report, digests(report), replayed(report))
    if any(check.equal is False for check in report.checks):
        out.next(settings.again("verify", report.run_id))
        raise typer.Exit(MageError.exit_code)
    out.next(settings.again("exam", report.run_id, "--at", report.marker))


def _check(run: Run, settings: Settings, out: Output) -> None:
    checks, table = verb("recheck")(run)
    out.report(checks, table)
    if any(not check.equal for check in checks):
        raise typer.Exit(MageError.exit_code)
    out.next(settings.again("verify", run.id))
