"""`mage-es exam`: questions that a run never saw, answered with its frozen state."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from mage_es.cli.options import Json, Marker, RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.progress import Progress
from mage_es.cli.settings import Settings
from mage_es.cli.tables import episodes, examined
from mage_es.cli.tables import exam as exam_table

EXAMPLES = examples("mage-es exam", "mage-es exam RUN --at start --questions 100", "mage-es exam --control shuffled")


@takes("workers", "max_connections", "runs_dir", "data_dir")
def exam(
    run: RunArgument = None,
    *,
    settings: Settings,
    at: Marker = "latest",
    questions: Annotated[
        int | None, typer.Option("--questions", min=1, help="Number of held-out questions. [default: all of the run]")
    ] = None,
    control: Annotated[
        Literal["none", "shuffled"],
        typer.Option("--control", help="shuffled: memories of other task types in every prompt."),
    ] = "none",
    as_json: Json = False,
) -> None:
    """Examine a run on questions that it never saw.

    No learning, no guidance call, the run's log untouched.
    """
    from mage_es.engine.exam import examine
    from mage_es.engine.runs import find_run

    out = Output(as_json=as_json)
    found = find_run(settings.runs_dir, run)
    with Progress() as progress:
        report = examine(
            found,
            at=at,
            questions=questions,
            control=control,
            data_dir=settings.data_dir,
            workers=settings.workers,
            max_connections=settings.max_connections,
            observer=progress.observe,
        )
    out.report(report, exam_table(report), *episodes(report.episodes), examined(report))
    out.next(
        settings.again("exam", report.run_id, "--at", "start")
        if at != "start"
        else settings.again("runs", "show", report.run_id, names=("runs_dir",))
    )
