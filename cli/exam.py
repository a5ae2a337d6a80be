"""`mage-es exam`: held-out questions, answered with a run's frozen state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mage_es.cli.options import AtOption, RunArgument, examples, takes
from mage_es.cli.output import Output, percent
from mage_es.cli.progress import ProgressDisplay
from mage_es.cli.session import watched
from mage_es.cli.settings import Settings
from mage_es.cli.tables import by_kind, episodes
from mage_es.cli.tables import exam as exam_table
from mage_es.events.errors import BudgetReached, Interrupted

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run
    from mage_es.engine.verbs.exam_report import ExamReport

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

    It learns nothing and calls no guidance model; the run's log records that it was taken, and its result. The same
    command continues an exam that was stopped, and shows one that is complete without a call.
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
    out.report(report, exam_table(report), *episodes(report.episodes), examined(report), *compared(report))
    out.next(_ahead(settings, found))


def examined(report: ExamReport) -> str:
    judge = f", {report.judge_calls} judge calls" if report.judge_calls else ""
    embedder = f", {report.embedder_calls} embedder calls" if report.embedder_calls else ""
    left = "".join(
        f"; {sum(counts.values())} {what} ({by_kind(counts)}), counted as wrong"
        for what, counts in (("undecided", report.undecided), ("unanswered", report.unanswered))
        if counts
    )
    return (
        f"{report.execution_calls} execution calls, {report.guidance_calls} guidance calls{judge}{embedder}, "
        f"{report.seconds:.1f} s; task types from {report.task_type_source}, "
        f"the teacher saw {report.teacher_sees}{left}"
    )


def compared(report: ExamReport) -> Iterator[str]:
    """Yield the difference to the exam of the run's start, and that nothing was asked, where it applies."""
    if before := report.before:
        low, high, p = before.interval.low, before.interval.high, before.interval.p
        yield (
            f"Before, in exam {before.exam_id}: {percent(before.correct, before.total)} of the same {before.total} "
            f"questions. The difference is {before.points:+.1f} points, 95 % {low:+.1f} to {high:+.1f} "
            f"({before.interval.method}); {before.better} questions won, {before.worse} lost, p = {p:.2g} (sign test)."
        )
    if report.repeated:
        yield "This exam was taken before: the result is the recorded one, and no model was called."


def _ahead(settings: Settings, run: Run) -> str:
    """Return the exam that is missing to compare the run's first state with its last, or the report on both."""
    from mage_es.engine.run.exams import exam_records
    from mage_es.events.log import LogReader

    taken = {record.opened.marker for record in exam_records(LogReader(run.log_path)) if record.is_there(run)}
    if "start" not in taken:
        return settings.again("exam", run.id, "--at", "start")
    if "latest" not in taken:
        return settings.again("exam", run.id)
    return settings.again("report", str(run.path.parent), names=("data_dir",))


def _again(settings: Settings, run_id: str, at: str, questions: int | None, control: str) -> str:
    words = ["--at", at] if at != "latest" else []
    words += ["--questions", str(questions)] if questions else []
    words += ["--control", control] if control != "none" else []
    return settings.again("exam", run_id, *words, names=("runs_dir", "data_dir", "guidance_batch", *BUDGET))
