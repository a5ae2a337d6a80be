"""`mage-es replay`: rebuild a run's state in a new place and compare it with what was recorded live."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import Json, RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.cli.tables import digests, rechecked, replayed
from mage_es.events.errors import MageError

if TYPE_CHECKING:
    from mage_es.engine.runs import Run

EXAMPLES = examples(
    "mage-es replay --until iter-9", "mage-es replay RUN --until iter-3 --into /tmp/at-3", "mage-es replay --check"
)


@takes("runs_dir")
def replay(
    run: RunArgument = None,
    *,
    settings: Settings,
    until: Annotated[
        str, typer.Option("--until", metavar="MARKER", help="Last state to build: start, iter-9, seq:1234, latest.")
    ] = "latest",
    into: Annotated[
        Path | None,
        typer.Option(
            "--into", metavar="FOLDER", help="New folder for what is rebuilt. [default: a fresh one in the run]"
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Build nothing: fold every iteration again and compare its digests.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Rebuild a run's state up to a marker and compare digests.

    Graph, memory, mastery, bandits and the rest are rebuilt without any model. Exits with 1 if a
    digest differs from the one recorded live. With --check every iteration is compared instead,
    and the first that differs is named with its projection and, where it can be told, its field.
    """
    from mage_es.engine.replay import replay as rebuild
    from mage_es.engine.runs import find_run

    out = Output(as_json=as_json)
    if check:
        _check(find_run(settings.runs_dir, run), settings, out)
        return
    report = rebuild(find_run(settings.runs_dir, run), until=until, into=into)
    out.report(report, digests(report), replayed(report))
    differ = [check.projection for check in report.checks if check.equal is False]
    if differ:
        out.next(settings.again("verify", report.run_id))
        raise typer.Exit(MageError.exit_code)
    out.next(settings.again("exam", report.run_id, "--at", report.marker))


def _check(run: Run, settings: Settings, out: Output) -> None:
    from mage_es.engine.recheck import recheck
    from mage_es.events.reader import LogReader

    checks = recheck(LogReader(run.log_path), run.snapshots_path)
    out.report(checks, rechecked(checks))
    if any(not check.equal for check in checks):
        raise typer.Exit(MageError.exit_code)
    out.next(settings.again("verify", run.id))
