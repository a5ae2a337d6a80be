"""The table of commands: the kernel's own, and those that wings and other packages offer by entry point."""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

import mage_es
from mage_es.cli import config, evolve, exam, explain, replay, resume, runs
from mage_es.cli.completion import InstallOption
from mage_es.cli.entries import CommandEntry, GroupEntry
from mage_es.cli.help import PanelledGroup
from mage_es.cli.options import examples
from mage_es.engine.seams.plugins import faulty, load, plugins
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
) -> None:
    """Options of the program; `main` also accepts `--debug` after the command."""


KERNEL = (
    CommandEntry("Learn", 10, evolve.evolve, evolve.EXAMPLES),
    CommandEntry("Learn", 20, resume.resume, resume.EXAMPLES),
    CommandEntry("Measure", 10, exam.exam, exam.EXAMPLES),
    GroupEntry(
        *("Look", 10, "runs", "List the runs, show one, delete one."),
        list=(runs.list_all, runs.LIST_EXAMPLES),
        show=(runs.show_one, runs.SHOW_EXAMPLES),
        delete=(runs.delete, runs.DELETE_EXAMPLES),
    ),
    CommandEntry("Look", 60, explain.explain, explain.EXAMPLES),
    CommandEntry("Check and keep", 10, replay.replay, replay.EXAMPLES),
    CommandEntry("Set up", 20, config.config, config.EXAMPLES),
)


def _all() -> Mapping[str, CommandEntry | GroupEntry]:
    """Return the commands by their word: the kernel's, the wings', then those of other packages with other words."""
    commands = {each.word: each for each in KERNEL}
    for name in plugins("mage_es.commands"):
        try:
            for each in _offered(name):
                if commands.setdefault(each.word, each) is not each:
                    raise faulty("mage_es.commands", name, f"offers a command {each.word!r}, which exists already")
        except MageError as error:  # another package's fault must not take our commands away
            print(f"mage-es: {error}", file=sys.stderr)
    return commands


def _offered(name: str) -> Sequence[CommandEntry | GroupEntry]:
    """Return the commands of a wing or of another package. Raises the error of `faulty` for anything else."""
    offered = load("mage_es.commands", name)
    entries = offered if isinstance(offered, Sequence) else ()
    if not (entries and all(isinstance(each, CommandEntry | GroupEntry) and each.is_complete for each in entries)):
        words = "is not a sequence of `CommandEntry`s, each with a panel of ours, a rank and a function"
        raise faulty("mage_es.commands", name, f"{words} (mage_es.cli.entries)")
    return entries


for command in sorted(_all().values(), key=lambda each: each.rank):
    command.add_to(app)
