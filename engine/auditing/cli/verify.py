"""`mage-es verify`: check a run's hashes, its splits and its theorems; and cut out what is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings
from mage_es.cli.tables import exams
from mage_es.engine.auditing.cli.tables import checks, grounds
from mage_es.events.errors import LogDamaged, MageError, UsageError

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run
    from mage_es.events.care import RepairReport

EXAMPLES = examples(
    "mage-es verify",
    "mage-es verify RUN --head 5c0f0e8a9d1b7f43",
    "mage-es verify RUN --key example.org/audit+KEY",
    "mage-es verify RUN --repair",
    "mage-es verify RUN --repair --lose 814",
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
            help="A head printed earlier (16 digits or more), or the file of a signed head; the log must still "
            "contain it.",
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Verifier key that must have signed or cosigned a head; may be repeated."),
    ] = None,
    parent: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The run that this one continues, to compare it with.")
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Show what would be lost by truncating a damaged log after its last intact event."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --repair: do it if no event is lost.")] = False,
    lose: Annotated[
        str,
        typer.Option(
            metavar="N|all",
            help="With --repair: truncate it although N events are lost; N is the number that --repair shows. Their "
            "bytes are kept in log/quarantine.",
        ),
    ] = "",
) -> None:
    """Verify every byte of a run and every theorem on its log, and score every answer again.

    A doubt is not a failure: its detail says what is odd, or could not be checked here. Exits with 5 if bytes are not
    what was written, or with 1 if another check fails. If you have a backup of a damaged run, restore that. Otherwise
    --repair shows which events, iterations and exams would be lost and exits with 1; with --lose and their number it
    truncates the log, verifies what is left and exits with 1, or with 5 if a repair cannot fix everything. Damage that
    costs no event is repaired with --yes.
    """
    from mage_es.engine.auditing.theorems.target_leaks import NAME as TARGET_LEAKS
    from mage_es.engine.auditing.verify import verify as verify_run

    if (yes or lose) and not repair:
        raise UsageError("--yes and --lose go with --repair: verifying alone changes nothing.")
    if repair and (head or key or parent):
        raise UsageError("--repair takes no --head, --key or --parent: repair the run, then verify it with them.")
    found = settings.find_run(run)
    if repair:
        _repair(found, yes=yes, lose=lose, settings=settings, out=out)
        return
    report = verify_run(found, head=head, keys=key or (), parent=parent, data_dir=settings.data_dir)
    head_line = [f"head {report.head}"] if report.head else []  # unknown where the end of the log is damaged
    tables = [checks(f"Run {report.run_id}", report.checks), *exams(report.exams), *grounds(report.grounds)]
    out.report(report, *tables, *head_line)
    if not report.ok:
        failed = {check.name for check in report.checks if not check.ok}
        if failed == {TARGET_LEAKS}:
            out.next(settings.again("runs", "show", report.run_id))
            raise typer.Exit(MageError.exit_code)
        if failed != {"keys"}:  # which no backup has
            out.say("Restore the run from a backup, then verify it again.")
        damaged = [check.name for check in report.checks if check.damaged]
        ways = ((), ("--repair",)) if "log" in damaged else ((),)
        out.next(*(settings.again("verify", report.run_id, *way) for way in ways))
        raise typer.Exit(LogDamaged.exit_code if damaged else MageError.exit_code)
    out.next(settings.again("runs", "show", report.run_id))


def _repair(run: Run, *, yes: bool, lose: str, settings: Settings, out: Output) -> None:
    """Show a repair, and do it if what it loses was confirmed.

    Tools that repair what cannot be recovered never do so on a plain yes: `git fsck` changes nothing, `sqlite3
    .recover` writes beside the damaged file, `zpool import -F` takes an extra flag. And e2fsck exits with 1 where it
    has corrected something, so that a script does not go on as if nothing had happened.
    """
    from mage_es.engine.auditing.repair import repair
    from mage_es.events.care import plan_repair

    lost = plan_repair(run.log_path).lost
    is_wanted = lose == lost if lost else yes
    report = repair(run, confirmed=is_wanted)
    out.report(report, *_shown(report, run.id, done=is_wanted))
    if not is_wanted and (report.problems or report.mends):
        instead = " If you have a backup of the run, restore that instead." if report.problems else ""
        instead = f" No other file of the run has these events.{instead}" if report.lost else instead
        out.say(f"Nothing has changed.{instead}")
        out.next(
            settings.again("verify", run.id, "--repair", *(("--lose", report.lost) if report.lost else ("--yes",)))
        )
        raise typer.Exit(MageError.exit_code)
    if report.left:
        out.next(settings.again("verify", run.id))
        raise typer.Exit(LogDamaged.exit_code)
    out.next(settings.again("verify", run.id), settings.again("resume", run.id))
    if report.lost:
        raise typer.Exit(MageError.exit_code)


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
    if report.lost:
        last = f"to {report.lost_last}, {report.lost} in all," if report.lost_last else "on (their number is unknown)"
        lost = f"Events {report.lost_first} {last} {'were' if report.done else verb} lost.{_iterations(report)}"
    problems = TextTable(f"Run {run_id}: what is wrong", ("problem",), [(problem,) for problem in report.problems])
    whole = f"Whole up to event {report.whole_seq}." if report.whole_seq else "Nothing of it is whole."
    parts: list[TextTable | str] = [problems, f"{whole} {lost}"]
    if report.cuts:
        rows = [(cut.file, cut.offset, cut.bytes, cut.kept_in) for cut in report.cuts]
        parts.append(TextTable("Cut out", ("file", "from byte", "bytes", "kept as"), rows))
        verb = "is" if report.done else "would be"
        parts.append(f"What is cut out {verb} kept in {report.kept}; nothing deletes it there.")
    if report.exams:
        names = ", ".join(report.exams)
        parts.append(f"The log's record of these exams is cut off, so that they no longer count: {names}.")
    if report.done:
        parts.append(f"Repaired, as event {report.head_seq} records; head {report.head_chain}")
    return [*parts, *rest]


def _iterations(report: RepairReport) -> str:
    """Return which iterations are lost, as far as what is cut out shows."""
    first, last = report.closed + 1, report.reached
    if first <= last:
        return f" With them {f'goes iteration {first}' if first == last else f'go iterations {first} to {last}'}."
    return f" The last iteration that is left is {report.closed}." if report.closed >= 0 else " No iteration is left."
