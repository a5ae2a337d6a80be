"""A place to run commands in: an empty folder, no settings from outside, and the command line in this process."""

import math
import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from mage_es.cli import main
from tests.paper_parts import PAPER_OPTIONS


def advised(err: str) -> list[list[str]]:
    """Return the words of each of our commands that a command names as the next."""
    _, _, last = err.rpartition("\nNext: ")
    lines = (shlex.split(line) for line in last.splitlines() if line.strip().startswith("mage-es "))
    return [words[1:] for words in lines] if "\nNext: " in err else []


def understand(words: list[str]) -> None:
    """Fail if the command line does not understand these words."""
    from mage_es.cli.app import app

    command: Any = typer.main.get_command(app)
    parent, given = None, words
    while hasattr(command, "get_command"):
        parent = command.make_context("mage-es", [], parent=parent, resilient_parsing=True)
        command, *words = command.get_command(parent, words[0]), *words[1:]
        assert command, given
    command.make_context("mage-es", list(words), parent=parent)


class Outcome(NamedTuple):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, without any MAGE_ES_ variable."""
    for variable in [name for name in os.environ if name.startswith("MAGE_ES_")]:
        monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def mage(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return a function that runs a command line and returns its outcome; no machine is so slow that more is said."""
    monkeypatch.setattr("mage_es.cli.progress.EVERY", math.inf)

    def command(*words: str) -> Outcome:
        capfd.readouterr()
        with pytest.raises(SystemExit) as exited:
            main(words)
        written = capfd.readouterr()
        for line in advised(written.err):
            understand(line)
        return Outcome(int(exited.value.code or 0), written.out, written.err)

    return command


SMALL = ("--iterations", "2", "--pool", "20", "--held-out", "20", "--anchors", "10", "--gate", "off", *PAPER_OPTIONS)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of runs with one finished run, `first`; only read it, or copy it."""
    runs_dir = tmp_path_factory.mktemp("finished") / "runs"
    with pytest.raises(SystemExit) as exited:
        main(["evolve", "wordmath", *SMALL, "--run-id", "first", "--runs-dir", str(runs_dir)])
    assert exited.value.code == 0
    return runs_dir


@pytest.fixture
def runs_dir(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder of runs at `runs`, where commands find it by themselves."""
    shutil.copytree(finished, tmp_path / "runs")
    return tmp_path / "runs"
