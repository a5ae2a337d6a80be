"""A command at work on a run: progress on the screen, Ctrl-C in hand, and the way back in whatever happens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from mage_es.cli.interrupts import Interrupts
from mage_es.cli.options import SPENDING
from mage_es.cli.output import Output
from mage_es.cli.progress import Progress
from mage_es.cli.settings import Settings
from mage_es.cli.tables import episodes, iterations, overview
from mage_es.engine.reports import RunSummary
from mage_es.events.errors import BudgetReached, Interrupted

if TYPE_CHECKING:
    from mage_es.engine.runtime import Runtime


@contextmanager
def session(out: Output, settings: Settings) -> Iterator[Runtime]:
    """Watch a run at work as the settings say; if it does not come to its end, say how to resume it.

    Raises:
        typer.Exit: The first Ctrl-C (130) or SIGTERM (143) stopped the run, or its budget did (3); what it came to so
            far was shown.
    """
    progress = Progress()
    try:
        with Interrupts() as interrupts, progress:
            yield settings.runtime(progress.observe, interrupts.asked)
    except Interrupted as stopped:
        if not progress.run_id:
            raise
        is_spent = isinstance(stopped, BudgetReached)
        spent, why = (_reached(settings, stopped), f" {stopped}") if is_spent else ((), "")
        out.say(f"Stopped; everything recorded is kept.{why} {_way_back(settings, progress, spent)}")
        _show_stopped(out, settings, progress.run_id)
        raise typer.Exit(stopped.exit_code) from stopped
    except Exception as error:
        if progress.run_id:
            error.add_note(_way_back(settings, progress))
        raise
    except BaseException:
        if progress.run_id:
            out.say(_way_back(settings, progress))
        raise


def _reached(settings: Settings, stopped: Interrupted) -> tuple[str, ...]:
    """Return the limits, among those that were given here, that the message of a budget names: more is needed."""
    return tuple(name for name in SPENDING if name in settings.flags() and _flag(name) in str(stopped))


def _way_back(settings: Settings, progress: Progress, spent: Sequence[str] = ()) -> str:
    """Return how to go on; what is spent is left open, since the same limit would end the run at once."""
    names = ("runs_dir", "data_dir", "guidance_batch", *SPENDING)  # without its budget it would spend without bound
    again = settings.again("resume", progress.run_id, names=tuple(name for name in names if name not in spent))
    more = "".join(f" {_flag(name)} N" for name in spent)
    above = ", ".join(f"N above {settings.flags()[name]}" for name in spent)
    return f"Resume it with: {again}{more}{f' ({above})' if above else ''}"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _show_stopped(out: Output, settings: Settings, run_id: str) -> None:
    from mage_es.engine.runs import find_run
    from mage_es.engine.summary import summarise

    summary = summarise(find_run(settings.runs_dir, run_id))
    # Before the end of the first iteration, and in a baseline, there is none to show.
    each = (iterations(summary),) if summary.rows else ()
    out.report(summary, overview(summary), *each, *episodes(summary.episodes))


def conclude(out: Output, summary: RunSummary, settings: Settings) -> None:
    """Show what a run came to and what comes next."""
    out.report(summary, overview(summary), iterations(summary), *episodes(summary.episodes))
    out.next(
        settings.again("exam", summary.run_id),
        settings.again("replay", summary.run_id, "--until", "latest", names=("runs_dir",)),
    )
