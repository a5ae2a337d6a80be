"""`mage-es runs`: list the runs, show one, delete one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, agreed
from mage_es.cli.settings import Settings
from mage_es.cli.tables import (
    actions,
    agents,
    benefit,
    episodes,
    exams,
    form_in_words,
    frontier,
    iterations,
    ledger,
    overview,
)
from mage_es.cli.tables import runs as runs_table
from mage_es.events.errors import LogDamaged, LogError, UsageError

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run

LIST_EXAMPLES = examples("mage-es runs list", "mage-es runs list --runs-dir /data/runs --json")
SHOW_EXAMPLES = examples("mage-es runs show", "mage-es runs show RUN --json")
DELETE_EXAMPLES = examples("mage-es runs delete RUN", "mage-es runs delete RUN --yes")


@takes("runs_dir")
def list_all(*, settings: Settings, out: Output) -> None:
    """List the runs, newest first, with their state."""
    from mage_es.engine.run.directory import list_runs
    from mage_es.engine.verbs.runs import summarise

    summaries = [summarise(run) for run in reversed(list_runs(settings.runs_dir))]
    if not summaries:
        out.report([], f"No runs in {settings.runs_dir}.")
        out.next("mage-es demo")
        return
    out.report(summaries, runs_table(summaries))
    out.next(settings.again("runs", "show", summaries[0].run_id, names=("runs_dir",)))


@takes("runs_dir", "data_dir", "prices")
def show_one(run: RunArgument = None, *, settings: Settings, out: Output) -> None:
    """Show a run: accuracy and memories per iteration, exams, what EVOLVE wrote, the frontier, and the costs."""
    from mage_es.engine.verbs.runs import summarise

    summary = summarise(settings.find_run(run), prices=settings.prices())
    # A served run learns by publishing: no agent works in it, and its plan is its parent's.
    own = () if summary.state == "served" else (agents("The six agents", summary), actions(summary), frontier(summary))
    tables = (*own, ledger(summary))
    parts = [table for table in tables if table.rows]
    shown = () if summary.baseline else (iterations(summary), benefit(summary.benefit, summary.stale))
    whole = (*shown, *form_in_words(summary.form))
    out.report(summary, overview(summary), *whole, *episodes(summary.episodes), *exams(summary.exams), *parts)
    if summary.state == "damaged":
        out.next(settings.again("verify", summary.run_id, names=("runs_dir",)))
        raise typer.Exit(LogDamaged.exit_code)
    if summary.state == "finished" and summary.baseline:
        out.next(settings.again("report", str(settings.runs_dir), names=("data_dir", "prices")))
    else:
        ahead = {"finished": "exam", "served": "gain"}.get(summary.state, "resume")
        out.next(settings.again(ahead, summary.run_id))


@takes("runs_dir")
def delete(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id or folder.")],
    *,
    settings: Settings,
    out: Output,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete without asking, even a run that holds replies or exams.")
    ] = False,
) -> None:
    """Delete a run with its exams, permanently.

    A run without a model's reply or an exam is deleted at once; for any other the command says what would be lost, and
    asks.
    """
    from mage_es.engine.run.directory import delete_run

    found = settings.find_run(run)
    lost = _lost(found)
    if lost and not yes and not agreed(f"Delete {found.path}, which holds {lost}? [y/N] "):
        raise UsageError(f"{found.path} holds {lost}. Nothing was deleted. Add --yes to delete it.")
    delete_run(found)
    out.report({"run_id": found.id, "path": str(found.path), "lost": lost}, f"{found.path}: deleted.")
    out.next(settings.again("runs", "list", names=("runs_dir",)))


def _lost(run: Run) -> str:
    """Return what only this run holds: its models' replies and its exams; "" if it has neither."""
    from mage_es.events.log import LogReader
    from mage_es.events.vocabulary import ModelCalled

    try:
        replies = sum(1 for _ in LogReader(run.log_path).of(ModelCalled))
    except LogError:
        return "a log that cannot be read"
    exams = len(run.exams())
    return f"{replies} replies of models and {exams} exams" if replies or exams else ""
