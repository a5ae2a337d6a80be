"""`mage-es repair`: cut a damaged run back to its last whole event, if there is no backup to restore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings
from mage_es.events.errors import LogDamaged, MageError

if TYPE_CHECKING:
    from mage_es.events.care import RepairReport

EXAMPLES = examples("mage-es repair RUN", "mage-es repair RUN --yes")


@takes("runs_dir")
def repair(
    run: RunArgument = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Repair the run; otherwise the loss is only shown.")] = False,
    settings: Settings,
    out: Output,
) -> None:
    """Cut a damaged run back to its last whole event.

    Without --yes it shows what would be lost and exits with 1. The bytes that are cut out stay in log/quarantine. What
    is left is verified, and exits with 5 if no repair mends all of it. If you have a backup, restore that instead.
    """
    from mage_es.engine.verbs.repair import repair as repair_run

    found = settings.find_run(run)
    report = repair_run(found, confirmed=yes)
    out.report(report, *_shown(report, found.id, done=yes))
    if not yes and (report.problems or report.mends):
        instead = " If you have a backup of the run, restore that instead." if report.problems else ""
        out.say(f"Nothing was changed.{instead}")
        out.next(settings.again("repair", found.id, "--yes"))
        raise typer.Exit(MageError.exit_code)
    if report.left:
        out.next(settings.again("verify", found.id))
        raise typer.Exit(LogDamaged.exit_code)
    out.next(settings.again("verify", found.id), settings.again("resume", found.id))


def _shown(report: RepairReport, run_id: str, *, done: bool) -> list[TextTable | str]:
    left = TextTable(f"Run {run_id}: no repair mends this", ("problem",), [(problem,) for problem in report.left])
    rest: list[TextTable | str] = [left] if report.left else []
    if report.mends:
        title = f"Run {run_id}: {'mended' if done else 'opening the log mends this'}, and no event is lost"
        return [TextTable(title, ("problem",), [(problem,) for problem in report.mends]), *rest]
    if not report.problems:
        well = "no event would be saved by a cut" if report.left else "nothing to repair"
        return [f"Run {run_id}: {well}, the log opens (head {report.head_chain}).", *rest]
    verb = "was" if report.done else "would be"
    lost = f"No event {verb} lost."
    if report.lost_first:
        last = f"to {report.lost_last}" if report.lost_last else "on (their number is unknown)"
        lost = f"Events {report.lost_first} {last} {'were' if report.done else verb} lost."
    problems = TextTable(f"Run {run_id}: what is wrong", ("problem",), [(problem,) for problem in report.problems])
    whole = f"Whole up to event {report.whole_seq}." if report.whole_seq else "Nothing of it is whole."
    parts: list[TextTable | str] = [problems, f"{whole} {lost}"]
    if report.cuts:
        rows = [(cut.file, str(cut.offset), str(cut.bytes), cut.kept_in) for cut in report.cuts]
        parts.append(TextTable("Cut out", ("file", "from byte", "bytes", "kept in log/quarantine as"), rows))
    if report.exams:
        names = ", ".join(report.exams)
        parts.append(f"The log's record of these exams is cut off, so that they no longer count: {names}.")
    if report.done:
        parts.append(f"Repaired, as event {report.head_seq} records; head {report.head_chain}")
    return [*parts, *rest]
