"""Every command of the command line, as the parser has it."""

from collections.abc import Iterator
from typing import Any

import typer

from mage_es.cli.app import app

ROOT: Any = typer.main.get_command(app)


def _leaves(group: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(command, *names, name)
        else:
            yield (*names, name), command


LEAVES = dict(_leaves(ROOT))
"""Each command by the words that name it, without `mage-es`."""


def parsed(words: list[str]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the command that a command line names and its parameters; an option that it lacks is an error."""
    named = max((leaf for leaf in LEAVES if tuple(words[: len(leaf)]) == leaf), key=len)
    return named, LEAVES[named].make_context(named[-1], words[len(named) :]).params
