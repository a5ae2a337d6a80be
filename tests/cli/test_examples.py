"""The examples that stand in the help of each command are command lines that it takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from mage_es.cli.settings import fields, flag_of, resolve
from tests.cli.leaves import LEAVES, ROOT, parsed

EXAMPLES = [
    (names, line)
    for names, command in {**LEAVES, (): ROOT}.items()
    for line in re.findall(r"^  (.*mage-es .*)$", command.epilog, flags=re.MULTILINE)
]


def test_every_command_has_examples() -> None:
    assert {names for names, _ in EXAMPLES} == {*LEAVES, ()}


def test_an_example_is_taken_by_its_command_with_values_that_fit() -> None:
    for names, line in EXAMPLES:
        before, _, after = line.partition("mage-es ")
        words = shlex.split(after.partition(" <")[0])
        named, given = parsed(words)  # its error names the option
        assert not names or named == names, line
        environment = dict(word.split("=", 1) for word in shlex.split(before))
        options = {param.name for param in LEAVES[named].params if flag_of(param.name) in param.opts}
        flags = {name: value for name, value in given.items() if name in options & fields().keys()}
        assert resolve(flags, environment=environment, folder=Path("nowhere")), line
