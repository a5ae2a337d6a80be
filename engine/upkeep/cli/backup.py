"""`mage-es backup` and `mage-es restore`: copy a run's logs to a folder or a bucket, and back."""

from typing import Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.events.errors import MageError, UsageError

BACKUP_EXAMPLES = examples("mage-es backup RUN", "mage-es backup RUN s3://bucket/runs/first")
RESTORE_EXAMPLES = examples(
    "mage-es restore /mnt/backups/first again",
    "mage-es restore s3://bucket/runs/first again --runs-dir /data/runs",
    "mage-es restore s3://bucket/runs --all --runs-dir /data/runs",
)


@takes("runs_dir")
def backup(
    run: RunArgument = None,
    destination: Annotated[
        str | None,
        typer.Argument(
            metavar="[DEST]",
            help="A folder or s3://bucket/prefix. [default: the run's name in a folder beside the runs]",
            show_default=False,
        ),
    ] = None,
    *,
    settings: Settings,
    out: Output,
    without_gold: Annotated[
        bool,
        typer.Option(
            "--without-gold", help="Leave out the right answers. The copy can then be neither examined nor resumed."
        ),
    ] = False,
) -> None:
    """Back up a run's logs, even while it is working.

    Copies what is new, missing or damaged there. Without a destination, runs/first goes to runs-backups/first.
    For buckets, endpoint, region and credentials come from the AWS_* environment variables.
    """
    from mage_es.engine.upkeep.backup import backup as back_up

    report = back_up(settings.find_run(run), destination, gold=not without_gold)
    new = f"{report.objects} new objects, {report.bytes} bytes" if report.objects else "nothing new"
    exams = f" and {report.exams} exams" if report.exams else ""
    text = f"{report.place}: {report.run_id} up to event {report.head_seq}{exams}; {new}."
    out.report(report, text, f"head {report.head_chain}")
    out.next(settings.again("restore", report.place, f"{report.run_id}-restored"))


@takes("runs_dir")
def restore(
    source: Annotated[str, typer.Argument(help="Where the backup is: a folder or s3://bucket/prefix.")],
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Name of the new run directory.", show_default=False)
    ] = None,
    *,
    settings: Settings,
    out: Output,
    all_below: Annotated[
        bool, typer.Option("--all", help="Restore every run with a backup below SOURCE; replace those that have grown.")
    ] = False,
) -> None:
    """Restore a run from its backup, or with --all every run that has one below a folder or prefix.

    Every byte of a new run directory is verified before it appears under its name.
    """
    from mage_es.engine.upkeep.backup import mirror
    from mage_es.engine.upkeep.backup import restore as restore_run

    if all_below == (name is not None):
        raise UsageError(
            "restore takes the NAME of one new run, or --all for every run that is backed up below SOURCE."
        )
    if name is None:
        mirrored = mirror(source, runs_dir=settings.runs_dir)
        counts = f"{len(mirrored.restored)} new, {len(mirrored.replaced)} replaced, {mirrored.unchanged} unchanged"
        out.report(mirrored, f"{mirrored.runs_dir}: {counts}, {len(mirrored.left_out)} left out.")
        for left_out, reason in mirrored.left_out.items():
            out.say(f"{left_out}: {reason}")
        if mirrored.left_out:
            raise typer.Exit(MageError.exit_code)
        return
    report = restore_run(source, runs_dir=settings.runs_dir, name=name)
    exams = f" and {report.exams} exams" if report.exams else ""
    text = f"{report.path}: restored up to event {report.head_seq}{exams} and verified."
    out.report(report, text, f"head {report.head_chain}")
    if not report.is_newest:
        out.say("A later backup there is incomplete: it was interrupted, or some of its files are missing.")
    out.next(settings.again("verify", name), settings.again("runs", "show", name))
