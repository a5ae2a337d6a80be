"""`mage-es exam`: held-out questions, answered with a run's frozen state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mage_es.cli.options import AtOption, RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.progress import ProgressDisplay
from mage_es.cli.session import watched
from mage_es.cli.settings import Settings
from mage_es.cli.tables import episodes, examined
from mage_es.cli.tables import exam as exam_table
from mage_es.events.errors import BudgetReached, Interrupted

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run

BUDGET = ("max_usd", "max_calls", "prices")
"""The settings that limit what one exam may cost."""

EXAMPLES = examples("mage-es exam", "mage-es exam RUN --at start --questions 100", "mage-es exam --control shuffled")


@takes("workers", "max_connections", "guidance_batch", "runs_dir", "data_dir", *BUDGET)
def exam(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    at: AtOption = "latest",
    questions: Annotated[
        int | None, typer.Option("--questions", min=1, help="Number of held-out questions. [default: all of the run]")
    ] = None,
    control: Annotated[
        Literal["none", "shuffled"],
        typer.Option("--control", help="shuffled: put memories of other task types into every prompt."),
    ] = "none",
) -> None:
    """Examine a run on questions that it never saw.

    It learns nothing, calls no guidance model and leaves the run's log untouched. The same command continues an exam
    that was stopped.
    """
    from mage_es.engine.verbs.exam import examine

    found, progress = settings.find_run(run), ProgressDisplay()
    again = _again(settings, found.id, at, questions, control)
    kept = f"The exam is incomplete; every answer so far is kept. Continue with: {again}"
    try:
        with watched(out, settings, progress, way_back=lambda: kept) as runtime:
            report = examine(
                found, at=at, questions=questions, control=control, data_dir=settings.data_dir, runtime=runtime
            )
    except Interrupted as stopped:
        why = f" {stopped}" if isinstance(stopped, BudgetReached) else ""
        raise type(stopped)(f"Stopped.{why} {kept}") from stopped
    out.report(report, exam_table(report), *episodes(report.episodes), examined(report))
    out.next(_ahead(settings, found))


def _ahead(settings: Settings, run: Run) -> str:
    """Return the exam that is missing to compare the run's first state with its last, or the report on both."""
    if not any(run.exams_path.glob("*-start")):
        return settings.again("exam", run.id, "--at", "start")
    if not any(run.exams_path.glob("*-latest")):
        return settings.again("exam", run.id)
    return settings.again("report", str(run.path.parent), names=("data_dir",))


def _again(settings: Settings, run_id: str, at: str, questions: int | None, control: str) -> str:
    words = ["--at", at] if at != "latest" else []
    words += ["--questions", str(questions)] if questions else []
    words += ["--control", control] if control != "none" else []
    return settings.again("exam", run_id, *words, names=("runs_dir", "data_dir", "guidance_batch", *BUDGET))
