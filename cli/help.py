"""Help texts in panels, one name for each kind of value, and Ctrl-C as an error of ours.

Typer draws panels only with rich, which is too slow to load for a help text. It also reads the options of every command
at each start, which takes as long as everything else: here a command's options are read only when it is used.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from mage_es.cli.interrupts import SecondTermination
from mage_es.events.errors import Interrupted, Terminated

OPTIONS = (
    *("Options", "Your own tasks", "Run", "Models", "Budget", "Machine", "Parts to leave out", "Rules to change"),
    "Everything else",
)
"""The panels of options in their order; an option without a panel goes into the first."""
COMMANDS = ("Learn", "Measure", "Look", "Serve", "Check and keep", "Set up", "Commands")
"""The panels of commands in their order; a command without a panel goes into the last."""

_KINDS = {"str": "TEXT", "int": "INTEGER", "int range": "INTEGER", "float": "NUMBER", "path": "PATH"}

_Records = Iterable[tuple[str, str]]


class PanelledCommand(TyperCommand):
    """A command whose callback, until its options are needed, has none itself and returns the function that has."""

    _is_read = False

    def get_params(self, ctx: Any) -> Any:
        if not self._is_read and self.callback:
            self._is_read = True
            function = CommandInfo(callback=self.callback())
            whole = get_command_from_info(function, pretty_exceptions_short=False, rich_markup_mode=None)
            self.params, self.callback = whole.params, whole.callback
        return super().get_params(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [parameter for parameter in self.get_params(ctx) if parameter.param_type_name == "argument"]
        return [self.options_metavar or "", *map(_argument, arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *OPTIONS)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and parameter.param_type_name == "argument":
                panels["Arguments"].append((_argument(parameter), record[1]))
            elif record:
                panel = getattr(parameter, "rich_help_panel", None) or OPTIONS[0]
                panels[panel].append((_with_kind(record[0]), record[1]))
        _write(panels, formatter)


class PanelledGroup(TyperGroup):
    """A group with its commands in panels, each with its whole first sentence."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)
        if option is not None:
            # If this is left at None, Typer loads pydantic to find out what None means for a switch: 0.1 s for every
            # command.
            option.default = False
        return option

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Raises `Interrupted` on Ctrl-C and SIGTERM; Typer itself would exit silently."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            kind = Terminated if isinstance(stopped, SecondTermination) else Interrupted
            raise kind("Stopped before it was done.") from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {name: [] for name in COMMANDS}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            panel = getattr(command, "rich_help_panel", None) or COMMANDS[-1]
            panels[panel].append((name, " ".join((command.help or "").partition("\n\n")[0].split())))
        _write(panels, formatter)


def _write(panels: Mapping[str, _Records], formatter: Any) -> None:
    for title, records in panels.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required or name.startswith("[") else f"[{name}]"


def _with_kind(words: str) -> str:
    """Return an option's words with our name for its kind: INTEGER for `<int>`, a|b for `<a|b>`."""
    return re.sub(r"<([^>]*)>", lambda found: _KINDS.get(found[1], found[1]), words)
