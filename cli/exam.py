"""`mage-es exam`: held-out questions, answered with a run's frozen state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mage_es.cli.options import WORKING, AtOption, RunArgument, examples, takes
from mage_es.cli.output import Output, percent
from mage_es.cli.progress import ProgressDisplay
from mage_es.cli.session import watched
from mage_es.cli.settings import Settings
from mage_es.cli.tables import benefit, by_kind, episodes, form_in_words
from mage_es.cli.tables import exam as exam_table
from mage_es.engine.config import MOST, SHOWN
from mage_es.events.errors import BudgetReached, Interrupted

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run
    from mage_es.engine.verbs.exam_report import ExamDifference, ExamReport

BUDGET = ("max_usd", "max_calls", "prices")
"""The settings that limit what one exam may cost."""

EXAMPLES = examples(
    "mage-es exam",
    "mage-es exam RUN --at start --questions 100",
    "mage-es exam --control permuted",
    "mage-es exam --execution openai/gpt-5-mini",
)


@takes(*WORKING, *BUDGET)
def exam(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    at: AtOption = "latest",
    questions: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST,
            help="Number of held-out questions; a larger exam includes those of a smaller one. [default: all]",
        ),
    ] = None,
    control: Annotated[
        Literal["none", "shuffled", "permuted", "bare"],
        typer.Option(
            help="Show memories that cannot help. shuffled: those of a question of another task type, or of a "
            "dissimilar one if all have the same type. permuted: its own, each with another memory's answer. "
            "bare: none, as at the start."
        ),
    ] = "none",
    execution: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Model that takes the exam in the learner's place. [default: the run's own]",
            show_default=False,
        ),
    ] = None,
    rejudge: Annotated[
        bool,
        typer.Option(
            "--rejudge", help="First score all exams again from their recorded replies, if the scorer has changed."
        ),
    ] = False,
) -> None:
    """Examine a run on questions that it never saw.

    It learns nothing and calls no guidance model; the run's log records the exam, its model and its result. The same
    command continues an exam that was stopped, and shows a complete one without any call. If another exam of the run is
    in progress, it waits.
    """
    from mage_es.engine.models.registry import open_model
    from mage_es.engine.verbs.exam import examine

    found, progress = settings.find_run(run), ProgressDisplay()
    again = _again(settings, found.id, at, questions, control, execution)
    learner = open_model(execution, "execution") if execution else None
    kept = f"The exam is incomplete; every answer so far is kept. Continue with: {again}"
    try:
        with watched(out, settings, progress, way_back=lambda: kept) as runtime:
            report = examine(
                found,
                at=at,
                questions=questions,
                control=control,
                data_dir=settings.data_dir,
                runtime=runtime,
                execution=learner,
                rejudge=rejudge,
            )
    except Interrupted as stopped:
        why = f" {stopped}" if isinstance(stopped, BudgetReached) else ""
        raise type(stopped)(f"Stopped.{why} {kept}") from stopped
    out.report(
        report,
        exam_table(report),
        *episodes(report.episodes),
        examined(report),
        benefit(report.benefit, report.stale),
        *form_in_words(report.form),
        *compared(report),
    )
    out.next(_ahead(settings, found))


def examined(report: ExamReport) -> str:
    judge = f", {report.judge_calls} judge calls" if report.judge_calls else ""
    embedder = f", {report.embedder_calls} embedder calls" if report.embedder_calls else ""
    left = "".join(
        f"; {sum(counts.values())} {what} ({by_kind(counts)}), counted {how}"
        for what, counts, how in (
            ("undecided", report.undecided, "neither as right nor as wrong"),
            ("unanswered", report.unanswered, "as wrong"),
        )
        if counts
    )
    return (
        f"Answered by {report.execution}: {report.execution_calls} execution calls, "
        f"{report.guidance_calls} guidance calls{judge}{embedder}, "
        f"{report.seconds:.1f} s; task types: {report.task_type_source}, "
        f"guidance may see {SHOWN[report.teacher_sees]}{left}"
    )


def compared(report: ExamReport) -> Iterator[str]:
    """Yield what a control showed, the differences to other exams, and a note if nothing was asked."""
    if report.control in ("shuffled", "permuted"):
        shown = {"shuffled": "memories of other questions", "permuted": "memories with each other's answers"}
        yield (
            f"{report.controlled} of {report.total} questions were shown {shown[report.control]}, "
            f"{report.bare} were shown none."
        )
    if report.recalled:
        yield (
            f"{report.recalled} of {report.total} questions were answered by the nearest cases, without a call: while "
            "learning they were right at least as often as the model (evolve --no-recall asks it anyway)."
        )
    if report.control in ("none", "bare") and report.bare and report.marker != "start":
        yield f"{report.bare} of {report.total} questions were asked with the bare prompt, without anything learned."
    if beside := report.beside:
        what = "Without the control" if report.control != "none" else f"By the run's own {beside.execution}"
        yield _difference(what, beside)
    elif report.control != "none":
        yield "There is no exam of this state without the control yet: take one to see the difference."
    if before := report.before:
        yield _difference("Before", before)
    if report.commonest:
        answer, right = report.commonest
        share = percent(right, report.total)
        yield f"The commonest answer, {answer!r}, would be right for {share} of these questions, without any model."
    if report.repeated:
        yield "This exam was taken before: the result is the recorded one, and no model was called."


def _difference(what: str, other: ExamDifference) -> str:
    low, high, p = other.interval.low, other.interval.high, other.interval.p
    return (
        f"{what}, in exam {other.exam_id}: {percent(other.correct, other.total)} of the same {other.total} "
        f"questions. The difference is {other.points:+.1f} points, 95 % {low:+.1f} to {high:+.1f} "
        f"({other.interval.method}); {other.better} won, {other.worse} lost, p = {p:.2g} (sign test)."
    )


def _ahead(settings: Settings, run: Run) -> str:
    """Return which exam is still needed to compare the run's first state with its last, or the report on both."""
    from mage_es.engine.run.exams import exam_records, is_own, learner_of
    from mage_es.events.log import LogReader

    reader = LogReader(run.log_path)
    own = (each for each in exam_records(reader) if is_own(each.opened, learner_of(reader)))
    taken = {record.opened.marker for record in own if record.is_there(run)}
    if "start" not in taken:
        return settings.again("exam", run.id, "--at", "start")
    if "latest" not in taken:
        return settings.again("exam", run.id)
    return settings.again("report", str(run.path.parent), names=("data_dir",))


def _again(settings: Settings, run_id: str, at: str, questions: int | None, control: str, execution: str | None) -> str:
    words = ["--at", at] if at != "latest" else []
    words += ["--questions", str(questions)] if questions else []
    words += ["--control", control] if control != "none" else []
    words += ["--execution", execution] if execution else []
    return settings.again("exam", run_id, *words, names=("runs_dir", "data_dir", "guidance_batch", "sign", *BUDGET))
