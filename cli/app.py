"""The table of commands."""

from collections.abc import Callable
from typing import Annotated

import typer

import mage_es
from mage_es.cli import (
    ask,
    backup,
    baseline,
    bisect,
    config,
    demo,
    diff,
    doctor,
    effect,
    erase,
    evolve,
    exam,
    explain,
    export,
    fetch,
    gain,
    key,
    log,
    matrix,
    mcp,
    memory,
    merge,
    new,
    prune,
    publish,
    receipt,
    replay,
    report,
    reproduce,
    resume,
    ring,
    runs,
    score,
    serve,
    show,
    tryout,
    upgrade,
    verify,
    view,
    what_if,
)
from mage_es.cli.completion import InstallOption, ShowOption
from mage_es.cli.help import PanelledCommand, PanelledGroup
from mage_es.cli.options import examples

app = typer.Typer(
    name="mage-es",
    cls=PanelledGroup,
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
    install_completion: InstallOption = False,
    show_completion: ShowOption = False,
) -> None:
    """Options of the program; `main` also accepts `--debug` after the command."""


def _command(panel: str, function: Callable[..., None], epilog: str, *, name: str | None = None) -> None:
    app.command(name, cls=PanelledCommand, epilog=epilog, rich_help_panel=panel)(function)


def _group(panel: str, name: str, help: str, **commands: tuple[Callable[..., None], str]) -> None:
    group = typer.Typer(cls=PanelledGroup, help=help, no_args_is_help=True)
    for word, (function, epilog) in commands.items():
        group.command(word, cls=PanelledCommand, epilog=epilog)(function)
    app.add_typer(group, name=name, rich_help_panel=panel)


_command("Learn", demo.demo, demo.EXAMPLES)
_command("Learn", tryout.tryout, tryout.EXAMPLES, name="try")
_command("Learn", evolve.evolve, evolve.EXAMPLES)
_command("Learn", resume.resume, resume.EXAMPLES)
_command("Learn", upgrade.upgrade, upgrade.EXAMPLES)
_command("Learn", merge.merge, merge.EXAMPLES)
_command("Learn", matrix.matrix, matrix.EXAMPLES)

_command("Measure", exam.exam, exam.EXAMPLES)
_command("Measure", baseline.baseline, baseline.EXAMPLES)
_command("Measure", ring.ring, ring.EXAMPLES)
_command("Measure", report.report, report.EXAMPLES)
_command("Measure", effect.effect, effect.EXAMPLES)
_command("Measure", what_if.what_if, what_if.EXAMPLES, name="what-if")
_command("Measure", score.score, score.EXAMPLES)

_command("Serve", serve.serve, serve.EXAMPLES)

_group(
    "Look",
    "runs",
    "List the runs, show one, delete one.",
    list=(runs.list_all, runs.LIST_EXAMPLES),
    show=(runs.show_one, runs.SHOW_EXAMPLES),
    delete=(runs.delete, runs.DELETE_EXAMPLES),
)
_command("Look", ask.ask, ask.EXAMPLES)
_command("Look", show.show, show.EXAMPLES)
_command("Look", diff.diff, diff.EXAMPLES)
_command("Look", bisect.bisect, bisect.EXAMPLES)
_command("Look", view.view, view.EXAMPLES)
_command("Look", explain.explain, explain.EXAMPLES)
_group(
    "Look",
    "memory",
    "Look at what a run has learned, take parts of it out of use or back, decide on proposals.",
    list=(memory.list_all, memory.LIST_EXAMPLES),
    show=(memory.show_one, memory.SHOW_EXAMPLES),
    quarantine=(memory.quarantine, memory.QUARANTINE_EXAMPLES),
    release=(memory.release, memory.RELEASE_EXAMPLES),
    prune=(prune.prune, prune.EXAMPLES),
    review=(memory.review, memory.REVIEW_EXAMPLES),
    approve=(memory.approve, memory.APPROVE_EXAMPLES),
    reject=(memory.reject, memory.REJECT_EXAMPLES),
)
_command("Look", log.log, log.EXAMPLES)

_command("Serve", mcp.mcp, mcp.EXAMPLES)
_command("Serve", publish.publish, publish.EXAMPLES)
_command("Serve", gain.gain, gain.EXAMPLES)

_command("Check and keep", replay.replay, replay.EXAMPLES)
_command("Check and keep", verify.verify, verify.EXAMPLES)
_command("Check and keep", receipt.receipt, receipt.EXAMPLES)
_group(
    "Check and keep",
    "key",
    "Make a key, sign a run's head, witness one.",
    new=(key.new, key.NEW_EXAMPLES),
    sign=(key.sign, key.SIGN_EXAMPLES),
    cosign=(key.cosign, key.COSIGN_EXAMPLES),
)
_command("Check and keep", reproduce.reproduce, reproduce.EXAMPLES)
_command("Check and keep", export.export, export.EXAMPLES)
_command("Check and keep", backup.backup, backup.BACKUP_EXAMPLES)
_command("Check and keep", backup.restore, backup.RESTORE_EXAMPLES)
_command("Check and keep", erase.erase, erase.EXAMPLES)

_command("Set up", doctor.doctor, doctor.EXAMPLES)
_command("Set up", fetch.fetch, fetch.EXAMPLES)
_command("Set up", config.config, config.EXAMPLES)
_command("Set up", new.new, new.EXAMPLES)
