"""`mage-es repair`: cut a damaged run to its last whole event, when there is no copy to restore it from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import Json, RunArgument, examples, takes
from mage_es.cli.output import Output, Table
from mage_es.cli.settings import Settings
from mage_es.events.errors import MageError

if TYPE_CHECKING:
    from mage_es.events.repair import RepairReport

EXAMPLES = examples("mage-es repair RUN", "mage-es repair RUN --yes")


@takes("runs_dir")
def repair(
    run: RunArgument = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this the loss is only shown.")] = False,
    settings: Settings,
    as_json: Json = False,
) -> None:
    """Cut a damaged run to its last whole event.

    Shows what is lost, and exits with 1, unless --yes is given. What is cut out is kept in log/quarantine. Restore from
    a copy instead where there is one.
    """
    from mage_es.engine.repair import repair as repair_run
    from mage_es.engine.runs import find_run

    out = Output(as_json=as_json)
    found = find_run(settings.runs_dir, run)
    report = repair_run(found, confirmed=yes)
    out.report(report, *_shown(report, found.id))
    if report.problems and not report.done:
        out.say("Nothing was changed. If there is a copy of the run, restore that instead.")
        out.next(settings.again("repair", found.id, "--yes"))
        raise typer.Exit(MageError.exit_code)
    out.next(settings.again("verify", found.id), settings.again("resume", found.id))


def _shown(report: RepairReport, run_id: str) -> list[Table | str]:
    if not report.problems:
        return [f"Run {run_id}: nothing to repair, the log can be opened as it is (head {report.head_chain})."]
    verb = "was" if report.done else "would be"
    lost = f"No event {verb} lost."
    if report.lost_first:
        last = f"to {report.lost_last}" if report.lost_last else "on (nothing tells how many)"
        lost = f"Events {report.lost_first} {last} {'were' if report.done else verb} lost."
    problems = Table(f"Run {run_id}: what is wrong", ("problem",), [(problem,) for problem in report.problems])
    whole = f"Whole up to event {report.whole_seq}." if report.whole_seq else "Nothing of it is whole."
    parts: list[Table | str] = [problems, f"{whole} {lost}"]
    if report.cuts:
        rows = [(cut.file, str(cut.offset), str(cut.bytes), cut.kept_in) for cut in report.cuts]
        parts.append(Table("Cut out", ("file", "from byte", "bytes", "kept in log/quarantine as"), rows))
    if report.done:
        parts.append(f"Repaired; the log says so in event {report.head_seq}, head {report.head_chain}")
    return parts
