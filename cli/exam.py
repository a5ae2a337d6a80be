"""`mage-es exam`: questions that a run never saw, answered with its frozen state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mage_es.cli.interrupts import Interrupts
from mage_es.cli.options import Json, Marker, RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.progress import Progress
from mage_es.cli.settings import Settings
from mage_es.cli.tables import episodes, examined
from mage_es.cli.tables import exam as exam_table
from mage_es.events.errors import BudgetReached, Interrupted

if TYPE_CHECKING:
    from mage_es.engine.runs import Run
    from mage_es.engine.runtime import Runtime

BUDGET = ("max_usd", "max_calls", "prices")
"""What may be spent on one exam."""

EXAMPLES = examples("mage-es exam", "mage-es exam RUN --at start --questions 100", "mage-es exam --control shuffled")


@takes("workers", "max_connections", "guidance_batch", "runs_dir", "data_dir", *BUDGET)
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

    No learning, no guidance call, the run's log untouched. An exam that was cut off goes on where it stopped when it is
    set again.
    """
    from mage_es.engine.exam import examine
    from mage_es.engine.runs import find_run

    out = Output(as_json=as_json)
    found = find_run(settings.runs_dir, run)
    again = _again(settings, found.id, at=at, questions=questions, control=control)
    with _sitting(out, settings, again) as runtime:
        report = examine(
            found,
            at=at,
            questions=questions,
            control=control,
            data_dir=settings.data_dir,
            runtime=runtime,
        )
    out.report(report, exam_table(report), *episodes(report.episodes), examined(report))
    out.next(_ahead(settings, found))


@contextmanager
def _sitting(out: Output, settings: Settings, again: str) -> Iterator[Runtime]:
    """Watch an exam; if it does not come to its end, say how to go on with it.

    Raises:
        Interrupted: The first Ctrl-C stopped it.
        BudgetReached: It used what it may.
    """
    progress = Progress()
    try:
        with Interrupts() as interrupts, progress:
            yield settings.runtime(progress.observe, interrupts.asked)
    except Interrupted as stopped:
        why = f" {stopped}" if isinstance(stopped, BudgetReached) else ""
        raise type(stopped)(f"Stopped; every answer so far is kept.{why} Go on with: {again}") from stopped
    except Exception as error:
        if progress.run_id:  # it has begun
            error.add_note(f"Every answer so far is kept. Go on with: {again}")
        raise
    except BaseException:
        if progress.run_id:
            out.say(f"Every answer so far is kept. Go on with: {again}")
        raise


def _ahead(settings: Settings, run: Run) -> str:
    """Return the exam that the run still wants, to compare its first state with its last; else the report on both."""
    if not any(run.exams_path.glob("*-start")):
        return settings.again("exam", run.id, "--at", "start")
    if not any(run.exams_path.glob("*-latest")):
        return settings.again("exam", run.id)
    return settings.again("report", str(run.path.parent), names=("data_dir",))


def _again(settings: Settings, run_id: str, *, at: str, questions: int | None, control: str) -> str:
    words = ["--at", at] if at != "latest" else []
    words += ["--questions", str(questions)] if questions else []
    words += ["--control", control] if control != "none" else []
    return settings.again("exam", run_id, *words, names=("runs_dir", "data_dir", "guidance_batch", *BUDGET))
