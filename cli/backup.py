"""`mage-es backup` and `mage-es restore`: a run's logs in a folder or a bucket, and a run directory from them."""

from __future__ import annotations

from typing import Annotated

import typer

from mage_es.cli.options import Json, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.events.errors import UsageError

BACKUP_EXAMPLES = examples("mage-es backup /mnt/backups/first", "mage-es backup RUN s3://bucket/runs/first")
RESTORE_EXAMPLES = examples(
    "mage-es restore /mnt/backups/first again", "mage-es restore s3://bucket/runs/first again --runs-dir /data/runs"
)


@takes("runs_dir")
def backup(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] DEST",
            help="Run id or folder (left out, the newest), and where to: a folder or s3://bucket/prefix.",
            show_default=False,
        ),
    ],
    *,
    settings: Settings,
    as_json: Json = False,
) -> None:
    """Back up a run's logs.

    Only what is new is copied, and nothing there is changed. The run may be going on. Buckets: endpoint, region and
    credentials come from the AWS_* environment variables."""
    from mage_es.engine.archive import backup as back_up
    from mage_es.engine.runs import find_run

    if len(words) > 2:
        raise UsageError(f"{len(words)} words were given: name a run (or none) and one destination.")
    out = Output(as_json=as_json)
    report = back_up(find_run(settings.runs_dir, words[0] if len(words) == 2 else None), words[-1])
    new = f"{report.objects} new objects, {report.bytes} bytes" if report.objects else "nothing new"
    exams = f" and {report.exams} exams" if report.exams else ""
    text = f"{report.place}: {report.run_id} up to event {report.head_seq}{exams}; {new}."
    out.report(report, text, f"head {report.head_chain}")
    out.next(settings.again("restore", report.place, f"{report.run_id}-restored"))


@takes("runs_dir")
def restore(
    source: Annotated[str, typer.Argument(help="Where the backup is: a folder or s3://bucket/prefix.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new run directory.")],
    *,
    settings: Settings,
    as_json: Json = False,
) -> None:
    """Restore a run from its backup.

    A new run directory is built and every byte of it verified before it appears under its name."""
    from mage_es.engine.archive import restore as restore_run

    out = Output(as_json=as_json)
    report = restore_run(source, runs_dir=settings.runs_dir, name=name)
    exams = f" and {report.exams} exams" if report.exams else ""
    text = f"{report.path}: restored up to event {report.head_seq}{exams}, and verified."
    out.report(report, text, f"head {report.head_chain}")
    out.next(settings.again("verify", name), settings.again("resume", name))
