"""The examples that stand in the help of each command are command lines that it takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from mage_es.cli.app import app
from mage_es.cli.settings import fields, resolve

ROOT: Any = typer.main.get_command(app)


def leaves(group: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with the words that name it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command, *names, name)
        else:
            yield (*names, name), command


LEAVES = dict(leaves(ROOT))
EXAMPLES = [
    (names, line)
    for names, command in {**LEAVES, (): ROOT}.items()
    for line in re.findall(r"^  (.*mage-es .*)$", command.epilog, flags=re.MULTILINE)
]


def test_every_command_has_examples() -> None:
    assert {names for names, _ in EXAMPLES} == {*LEAVES, ()}


@pytest.mark.parametrize(("names", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_an_example_is_taken_by_its_command_with_values_that_fit(names: tuple[str, ...], line: str) -> None:
    before, _, after = line.partition("mage-es ")
    words = shlex.split(after.partition(" <")[0])
    named = max((leaf for leaf in LEAVES if tuple(words[: len(leaf)]) == leaf), key=len)
    assert not names or named == names
    given = LEAVES[named].make_context(named[-1], words[len(named) :]).params
    environment = dict(word.split("=", 1) for word in shlex.split(before))
    flags = {name: value for name, value in given.items() if name in fields()}
    assert resolve(flags, environment=environment, folder=Path("nowhere"))
