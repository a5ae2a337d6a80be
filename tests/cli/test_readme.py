"""The page on the command line names every command, and no option or exit code that does not exist."""

import re
from pathlib import Path

import typer

from mage_es.events.errors import MageError
from tests.cli.test_examples import LEAVES

README = (Path(__file__).resolve().parents[2] / "cli" / "README.md").read_text(encoding="utf-8")
COMMANDS = README.partition("## Commands")[2].partition("`mage-es COMMAND --help`")[0]
FLAGS = {
    option
    for command in LEAVES.values()
    for each in command.get_params(typer.Context(command))
    for option in [*each.opts, *each.secondary_opts]
}


def test_every_command_is_named() -> None:
    firsts = " ".join(re.findall(r"^\| (`[^|]*) \|", COMMANDS, flags=re.MULTILINE))
    named = set(re.findall(r"[a-z]+(?:-[a-z]+)*", firsts))
    assert {word for names in LEAVES for word in names} <= named


def test_every_option_that_is_named_exists() -> None:
    named = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", README))
    of_pip = {"--no-deps"}
    assert named - FLAGS <= {"--help", "--debug", "--install-completion", *of_pip}


def test_every_exit_code_of_an_error_is_explained() -> None:
    def codes(kind: type[MageError]) -> set[int]:
        return {kind.exit_code}.union(*(codes(each) for each in kind.__subclasses__()))

    explained = README.partition("## Exit codes")[2].partition("##")[0]
    assert codes(MageError) <= {int(code) for code in re.findall(r"\b\d+\b", explained)}
