"""The examples that stand in the help of each command are command lines that it takes."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.slow
def test_examples_that_name_a_question_work_after_the_demo(tmp_path: Path) -> None:
    def mage(*words: str) -> subprocess.CompletedProcess[str]:  # in its own process: tests generate fewer questions
        return subprocess.run([sys.executable, "-m", "mage_es", *words], cwd=tmp_path, capture_output=True, text=True)

    run = "wordmath-s42-001"
    for words in (
        ["demo"],
        ["key", "new", "a.key", "--name", "example.org/a"],
        ["key", "sign", run, "--sign", "a.key"],
    ):
        assert mage(*words).returncode == 0, words
    lines = [line for names, line in EXAMPLES if names in (("show",), ("receipt",))]
    assert len(lines) >= 6
    for line in lines:
        done = mage(*(run if word == "RUN" else word for word in shlex.split(line)[1:]))
        assert done.returncode == 0, (line, done.stderr)
