"""The table of commands."""

from __future__ import annotations

from typing import Annotated

import typer

import mage_es
from mage_es.cli import (
    ask,
    backup,
    baseline,
    config_show,
    data,
    demo,
    doctor,
    evolve,
    exam,
    export,
    log,
    matrix,
    memory,
    new,
    repair,
    replay,
    report,
    resume,
    runs,
    score,
    show,
    verify,
)
from mage_es.cli.options import examples

app = typer.Typer(
    name="mage-es",
    help="A frozen model gets better from its own experience; every step can be replayed, audited and undone.",
    epilog=examples("mage-es demo", "mage-es evolve wordmath --iterations 10 --pool 60", "mage-es runs show"),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mage-es {mage_es.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version.", callback=_version)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Options that stand before any command; `main` takes `--debug` out of the words wherever it stands."""


app.command(epilog=demo.EXAMPLES)(demo.demo)
app.command(epilog=evolve.EXAMPLES)(evolve.evolve)
app.command(epilog=resume.EXAMPLES)(resume.resume)
app.command(epilog=replay.EXAMPLES)(replay.replay)
app.command(epilog=exam.EXAMPLES)(exam.exam)
app.command(epilog=ask.EXAMPLES)(ask.ask)
app.command(epilog=show.EXAMPLES)(show.show)
app.command(epilog=verify.EXAMPLES)(verify.verify)
app.command(epilog=score.EXAMPLES)(score.score)
app.command(epilog=baseline.EXAMPLES)(baseline.baseline)
app.command(epilog=repair.EXAMPLES)(repair.repair)
app.command(epilog=export.EXAMPLES)(export.export)
app.command(epilog=matrix.EXAMPLES)(matrix.matrix)
app.command(epilog=report.EXAMPLES)(report.report)
app.command(epilog=backup.BACKUP_EXAMPLES)(backup.backup)
app.command(epilog=backup.RESTORE_EXAMPLES)(backup.restore)

_new = typer.Typer(help="Begin a plugin of your own.", no_args_is_help=True)
_new.command("benchmark", epilog=new.BENCHMARK_EXAMPLES)(new.benchmark)
app.add_typer(_new, name="new")

_runs = typer.Typer(help="List the runs, or show one.", no_args_is_help=True)
_runs.command("list", epilog=runs.LIST_EXAMPLES)(runs.list_all)
_runs.command("show", epilog=runs.SHOW_EXAMPLES)(runs.show_one)
app.add_typer(_runs, name="runs")

_log = typer.Typer(help="Read the recorded events themselves.", no_args_is_help=True)
_log.command("show", epilog=log.SHOW_EXAMPLES)(log.show)
_log.command("tail", epilog=log.TAIL_EXAMPLES)(log.tail)
app.add_typer(_log, name="log")

_memory = typer.Typer(help="Look at what a run has learned, take some out of use, bring it back.", no_args_is_help=True)
_memory.command("list", epilog=memory.LIST_EXAMPLES)(memory.list_all)
_memory.command("show", epilog=memory.SHOW_EXAMPLES)(memory.show_one)
_memory.command("quarantine", epilog=memory.QUARANTINE_EXAMPLES)(memory.quarantine)
_memory.command("release", epilog=memory.RELEASE_EXAMPLES)(memory.release)
app.add_typer(_memory, name="memory")

_data = typer.Typer(help="List the benchmarks' data, or fetch some.", no_args_is_help=True)
_data.command("list", epilog=data.LIST_EXAMPLES)(data.list_all)
_data.command("fetch", epilog=data.FETCH_EXAMPLES)(data.fetch_one)
app.add_typer(_data, name="data")

_config = typer.Typer(help="Show the settings and where each comes from.", no_args_is_help=True)
_config.command("show", epilog=config_show.EXAMPLES)(config_show.config_show)
app.add_typer(_config, name="config")

app.command(epilog=doctor.EXAMPLES)(doctor.doctor)
