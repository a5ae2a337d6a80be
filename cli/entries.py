"""What a command of `mage-es` is: a wing offers a sequence of them by an entry point of `mage_es.commands`."""

from collections.abc import Callable
from typing import NamedTuple

import typer

from mage_es.cli.help import COMMANDS, PanelledCommand, PanelledGroup


class CommandEntry(NamedTuple):
    """A command: its panel in the help text, its rank there (the kernel's are 10, 20, ...), its function, its examples
    and its name if that is not the function's."""

    panel: str
    rank: int
    function: Callable[..., None]
    examples: str
    name: str | None = None

    @property
    def word(self) -> str:
        """What the user types after `mage-es`."""
        return self.name or self.function.__name__

    @property
    def is_complete(self) -> bool:
        return self.panel in COMMANDS and isinstance(self.rank, int) and callable(self.function)

    def add_to(self, app: typer.Typer) -> None:
        about, panel = self.function.__doc__, self.panel
        made = app.command(self.word, cls=PanelledCommand, help=about, epilog=self.examples, rich_help_panel=panel)
        made(lambda: self.function)


class GroupEntry:
    """Commands of two words, each with its examples, under one first word."""

    def __init__(
        self, panel: str, rank: int, name: str, help: str, **commands: tuple[Callable[..., None], str]
    ) -> None:
        self.panel, self.rank, self.word, self.help, self.commands = panel, rank, name, help, commands

    @property
    def is_complete(self) -> bool:
        return self.panel in COMMANDS and isinstance(self.rank, int) and bool(self.commands)

    def add_to(self, app: typer.Typer) -> None:
        group = typer.Typer(cls=PanelledGroup, help=self.help, no_args_is_help=True)
        for word, (function, examples) in self.commands.items():
            CommandEntry(COMMANDS[-1], self.rank, function, examples, word).add_to(group)
        app.add_typer(group, name=self.word, rich_help_panel=self.panel)
