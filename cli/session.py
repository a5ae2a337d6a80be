"""A command at work on a run: it shows progress, handles Ctrl-C and prints the command that resumes the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from mage_es.cli.interrupts import Interrupts
from mage_es.cli.output import Output
from mage_es.cli.progress import ProgressDisplay
from mage_es.cli.settings import Settings
from mage_es.cli.tables import benefit, episodes, form_in_words, iterations, overview
from mage_es.events.errors import BudgetReached, Interrupted

if TYPE_CHECKING:
    from mage_es.engine.run.runtime import Runtime
    from mage_es.engine.verbs.summary import RunSummary

_PROVIDERS = {"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"}


@contextmanager
def resumable(out: Output, settings: Settings) -> Iterator[Runtime]:
    """Show a run at work; if it stops before its end, say how to resume it.

    Raises:
        typer.Exit: The first Ctrl-C (130), SIGTERM (143) or the budget (3) stopped the run; its results so far are
            shown.
    """
    progress = ProgressDisplay()
    try:
        with watched(out, settings, progress, way_back=lambda: _way_back(settings, progress)) as runtime:
            yield runtime
    except Interrupted as stopped:
        if not progress.run_id:
            raise
        more, why = (stopped.options, f" {stopped}") if isinstance(stopped, BudgetReached) else ("", "")
        out.say(f"Stopped; everything recorded is kept.{why} {_way_back(settings, progress, more)}")
        _show_stopped(out, settings, progress.run_id)
        raise typer.Exit(stopped.exit_code) from stopped


@contextmanager
def watched(
    out: Output, settings: Settings, progress: ProgressDisplay, *, way_back: Callable[[], str]
) -> Iterator[Runtime]:
    """Show progress and handle Ctrl-C; if an error ends the work after it began, print `way_back`."""
    try:
        with Interrupts() as interrupts, progress:
            yield settings.runtime(progress.observe, interrupts.asked)
    except Interrupted:
        raise
    except Exception as error:  # whatever ended the work, it can be resumed
        if progress.run_id:
            error.add_note(way_back())
        raise
    except BaseException:  # a second Ctrl-C, whose notes nothing prints
        if progress.run_id:
            out.say(way_back())
        raise


@contextmanager
def repeatable(out: Output, settings: Settings) -> Iterator[Runtime]:
    """Do what `watched` does, for a command that works on several runs and continues if it is repeated."""
    kept = "Every answer so far is kept."
    again = f"{kept} The same command continues."
    try:
        with watched(out, settings, ProgressDisplay(), way_back=lambda: again) as runtime:
            yield runtime
    except BudgetReached as stopped:  # says itself how to continue, if not with the same command
        raise BudgetReached(f"Stopped. {stopped} {kept if stopped.options else again}") from stopped
    except Interrupted as stopped:
        raise type(stopped)(f"Stopped. {again}") from stopped


def _way_back(settings: Settings, progress: ProgressDisplay, more: str = "") -> str:
    """Return the command that resumes the run, with the limit to raise: the run keeps its other limits."""
    again = settings.again(
        "resume", progress.run_id, names=("runs_dir", "data_dir", "guidance_batch", "sign", "prices")
    )
    return f"Resume it with: {again} {more}".rstrip()


def _show_stopped(out: Output, settings: Settings, run_id: str) -> None:
    from mage_es.engine.verbs.runs import summarise

    summary = summarise(settings.find_run(run_id))
    # A baseline has no iterations, and a run none before its first one ends.
    each = (iterations(summary),) if summary.rows else ()
    out.report(summary, overview(summary), *each, *episodes(summary.episodes))


def serving(settings: Settings, run_id: str, execution: str) -> str:
    """Return the command that serves a run in front of its model's server or, if the model has none, shows the run."""
    from mage_es.engine.seams.spec import parse_spec

    spec = parse_spec(execution)
    if address := spec.options.get("base_url", _PROVIDERS.get(spec.provider)):
        upstream = address.rstrip("/").removesuffix("/v1")
        return settings.again("serve", run_id, "--upstream", upstream, names=("runs_dir", "data_dir"))
    return settings.again("runs", "show", run_id, names=("runs_dir",))


def conclude(out: Output, summary: RunSummary, settings: Settings) -> None:
    shown = (iterations(summary), benefit(summary.benefit, summary.stale), *form_in_words(summary.form))
    out.report(summary, overview(summary), *shown, *episodes(summary.episodes))
    out.next(
        settings.again("exam", summary.run_id),
        settings.again("replay", summary.run_id, "--until", "latest", names=("runs_dir",)),
    )
