"""A command at work on a run: progress on the screen, Ctrl-C handled, and the command that resumes it printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from mage_es.cli.interrupts import Interrupts
from mage_es.cli.options import SPENDING
from mage_es.cli.output import Output
from mage_es.cli.progress import ProgressDisplay
from mage_es.cli.settings import Settings, flag_of
from mage_es.cli.tables import episodes, iterations, overview
from mage_es.events.errors import BudgetReached, Interrupted

if TYPE_CHECKING:
    from mage_es.engine.run.runtime import Runtime
    from mage_es.engine.verbs.summary import RunSummary


@contextmanager
def session(out: Output, settings: Settings) -> Iterator[Runtime]:
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
        is_spent = isinstance(stopped, BudgetReached)
        spent, why = (_reached(settings, stopped), f" {stopped}") if is_spent else ((), "")
        out.say(f"Stopped; everything recorded is kept.{why} {_way_back(settings, progress, spent)}")
        _show_stopped(out, settings, progress.run_id)
        raise typer.Exit(stopped.exit_code) from stopped


@contextmanager
def watched(
    out: Output, settings: Settings, progress: ProgressDisplay, *, way_back: Callable[[], str]
) -> Iterator[Runtime]:
    """Show progress and handle Ctrl-C; if an error ends the work after it began, say `way_back`."""
    try:
        with Interrupts() as interrupts, progress:
            yield settings.runtime(progress.observe, interrupts.asked)
    except Interrupted:
        raise
    except Exception as error:
        if progress.run_id:
            error.add_note(way_back())
        raise
    except BaseException:
        if progress.run_id:
            out.say(way_back())
        raise


def _reached(settings: Settings, stopped: Interrupted) -> tuple[str, ...]:
    """Return the limits on this command line that the budget's message names: to resume, they must be raised."""
    return tuple(name for name in SPENDING if name in settings.flags() and flag_of(name) in str(stopped))


def _way_back(settings: Settings, progress: ProgressDisplay, spent: Sequence[str] = ()) -> str:
    """Return the command that resumes the run; a limit that is spent is left for the user to fill in."""
    # The other limits are repeated: a resumption without them could spend any amount.
    names = ("runs_dir", "data_dir", "guidance_batch", *SPENDING)
    again = settings.again("resume", progress.run_id, names=tuple(name for name in names if name not in spent))
    more = "".join(f" {flag_of(name)} N" for name in spent)
    above = ", ".join(f"N above {settings.flags()[name]}" for name in spent)
    return f"Resume it with: {again}{more}{f' ({above})' if above else ''}"


def _show_stopped(out: Output, settings: Settings, run_id: str) -> None:
    from mage_es.engine.verbs.runs import summarise

    summary = summarise(settings.find_run(run_id))
    # A baseline has no iterations, and a run none before the end of its first.
    each = (iterations(summary),) if summary.rows else ()
    out.report(summary, overview(summary), *each, *episodes(summary.episodes))


def conclude(out: Output, summary: RunSummary, settings: Settings) -> None:
    out.report(summary, overview(summary), iterations(summary), *episodes(summary.episodes))
    out.next(
        settings.again("exam", summary.run_id),
        settings.again("replay", summary.run_id, "--until", "latest", names=("runs_dir",)),
    )
