"""`mage-es runs`: list the runs, or show one."""

from __future__ import annotations

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.cli.tables import actions, agents, episodes, frontier, iterations, ledger, overview
from mage_es.cli.tables import runs as runs_table
from mage_es.events.errors import LogDamaged

LIST_EXAMPLES = examples("mage-es runs list", "mage-es runs list --runs-dir /data/runs --json")
SHOW_EXAMPLES = examples("mage-es runs show", "mage-es runs show RUN --json")


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
    """Show a run: accuracy and memories per iteration, what EVOLVE wrote, the frontier, and the costs."""
    from mage_es.engine.verbs.runs import summarise

    summary = summarise(settings.find_run(run), prices=settings.prices())
    tables = (agents("The six agents", summary), actions(summary), frontier(summary), ledger(summary))
    parts = [table for table in tables if table.rows]
    whole = () if summary.baseline else (iterations(summary),)
    out.report(summary, overview(summary), *whole, *episodes(summary.episodes), *parts)
    if summary.state == "damaged":
        out.next(settings.again("verify", summary.run_id, names=("runs_dir",)))
        raise typer.Exit(LogDamaged.exit_code)
    if summary.state == "finished" and summary.baseline:
        out.next(settings.again("report", str(settings.runs_dir), names=("data_dir", "prices")))
    else:
        out.next(settings.again("exam" if summary.state == "finished" else "resume", summary.run_id))
