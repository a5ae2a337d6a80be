"""The examples that stand in the help of each command are command lines that it takes."""

import re
import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from mage_es.cli.settings import fields, flag_of, resolve
from mage_es.engine.study.cli.demo import CONFIG
from mage_es.engine.verbs.evolve import evolve
from tests.cli.conftest import Command
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


@pytest.mark.slow
def test_examples_that_name_a_question_work_after_the_demo(mage: Command, whole_benchmark: None) -> None:
    run = "wordmath-s42-001"
    evolve(replace(CONFIG, iterations=4), runs_dir=Path("runs"), data_dir=None)  # as far as the examples look
    for words in (
        ["exam", "--at", "start"],
        ["key", "new", "a.key", "--name", "example.org/a"],
        ["key", "sign", run, "--sign", "a.key"],
    ):
        assert mage(*words).code == 0, words
    lines = [line for names, line in EXAMPLES if names in (("show",), ("receipt",))]
    assert len(lines) >= 6
    for line in lines:
        done = mage(*(run if word == "RUN" else word for word in shlex.split(line)[1:]))
        assert done.code == 0, (line, done.err)
