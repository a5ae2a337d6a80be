"""The table of commands: the kernel's own, and those that wings and other packages offer by entry point."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

import mage_es
from mage_es.cli import (
    ask,
    backup,
    baseline,
    config,
    erase,
    evolve,
    exam,
    explain,
    key,
    log,
    memory,
    new,
    prune,
    receipt,
    replay,
    reproduce,
    resume,
    runs,
    score,
    show,
    verify,
)
from mage_es.cli.completion import InstallOption, ShowOption
from mage_es.cli.entries import CommandEntry, GroupEntry
from mage_es.cli.help import PanelledGroup
from mage_es.cli.options import examples
from mage_es.engine.seams.plugins import load, plugins
from mage_es.events.errors import MageError

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


KERNEL = (
    CommandEntry("Learn", 10, evolve.evolve, evolve.EXAMPLES),
    CommandEntry("Learn", 20, resume.resume, resume.EXAMPLES),
    CommandEntry("Measure", 10, exam.exam, exam.EXAMPLES),
    CommandEntry("Measure", 20, baseline.baseline, baseline.EXAMPLES),
    CommandEntry("Measure", 50, score.score, score.EXAMPLES),
    GroupEntry(
        *("Look", 10, "runs", "List the runs, show one, delete one."),
        list=(runs.list_all, runs.LIST_EXAMPLES),
        show=(runs.show_one, runs.SHOW_EXAMPLES),
        delete=(runs.delete, runs.DELETE_EXAMPLES),
    ),
    CommandEntry("Look", 20, ask.ask, ask.EXAMPLES),
    CommandEntry("Look", 30, show.show, show.EXAMPLES),
    CommandEntry("Look", 60, explain.explain, explain.EXAMPLES),
    GroupEntry(
        *("Look", 70, "memory"),
        "Look at what a run has learned, take parts of it out of use or back, decide on proposals.",
        list=(memory.list_all, memory.LIST_EXAMPLES),
        show=(memory.show_one, memory.SHOW_EXAMPLES),
        quarantine=(memory.quarantine, memory.QUARANTINE_EXAMPLES),
        release=(memory.release, memory.RELEASE_EXAMPLES),
        prune=(prune.prune, prune.EXAMPLES),
        review=(memory.review, memory.REVIEW_EXAMPLES),
        approve=(memory.approve, memory.APPROVE_EXAMPLES),
        reject=(memory.reject, memory.REJECT_EXAMPLES),
    ),
    CommandEntry("Look", 80, log.log, log.EXAMPLES),
    CommandEntry("Check and keep", 10, replay.replay, replay.EXAMPLES),
    CommandEntry("Check and keep", 20, verify.verify, verify.EXAMPLES),
    CommandEntry("Check and keep", 30, receipt.receipt, receipt.EXAMPLES),
    GroupEntry(
        *("Check and keep", 40, "key", "Make a key, sign a run's head, witness one."),
        new=(key.new, key.NEW_EXAMPLES),
        sign=(key.sign, key.SIGN_EXAMPLES),
        cosign=(key.cosign, key.COSIGN_EXAMPLES),
    ),
    CommandEntry("Check and keep", 50, reproduce.reproduce, reproduce.EXAMPLES),
    CommandEntry("Check and keep", 70, backup.backup, backup.BACKUP_EXAMPLES),
    CommandEntry("Check and keep", 80, backup.restore, backup.RESTORE_EXAMPLES),
    CommandEntry("Check and keep", 90, erase.erase, erase.EXAMPLES),
    CommandEntry("Set up", 20, config.config, config.EXAMPLES),
    CommandEntry("Set up", 30, new.new, new.EXAMPLES),
)


def _all() -> Iterator[CommandEntry | GroupEntry]:
    yield from KERNEL
    for wing in plugins("mage_es.commands"):
        try:
            yield from load("mage_es.commands", wing)
        except MageError as error:  # another package's fault must not take our commands away
            print(f"mage-es: {error}", file=sys.stderr)


for command in sorted(_all(), key=lambda each: each.rank):
    command.add_to(app)
