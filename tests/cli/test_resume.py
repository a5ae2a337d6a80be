"""`mage-es resume` from the outside: what it refuses and what it leaves alone."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.events.log import Log
from tests.cli.conftest import SMALL
from tests.few_words import IN_A_PROCESS

Command = Callable[..., Any]


def test_a_finished_run_stays_as_it_is(mage: Command, runs_dir: Path) -> None:
    outcome = mage("resume", "first", "--pool", "20")
    assert (outcome.code, "finished" in outcome.out) == (0, True)


def test_another_configuration_is_refused_and_the_difference_shown(mage: Command, runs_dir: Path) -> None:
    outcome = mage("resume", "--pool", "21", "--no-principles")
    assert outcome.code == 2
    assert "pool was 20, now 21" in outcome.err
    assert "principles was True, now False" in outcome.err
    assert "seed" not in outcome.err


def test_a_second_writer_is_refused(mage: Command, runs_dir: Path) -> None:
    with Log.open(runs_dir / "first" / "log", clock=lambda: 0):
        outcome = mage("resume", "first")
    assert outcome.code == 4
    assert "first" in outcome.err


def test_a_folder_that_is_no_run_is_refused(mage: Command, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    outcome = mage("resume", "photos")
    assert (outcome.code, "photos is not a run" in outcome.err) == (2, True)


def test_an_unknown_run_is_refused_with_the_near_match(mage: Command, runs_dir: Path) -> None:
    outcome = mage("resume", "frist")
    assert (outcome.code, "Did you mean first?" in outcome.err) == (2, True)


def test_without_any_run_the_way_to_one_is_named(mage: Command) -> None:
    outcome = mage("resume")
    assert (outcome.code, "mage-es evolve" in outcome.err) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "killed"),
    [
        (("evolve", "wordmath", *SMALL, "--iterations", "1"), "before its log"),
        (("baseline", "zero_shot_cot", "wordmath", "--questions", "10"), "before its first event"),
    ],
)
def test_a_run_that_was_killed_before_its_first_event_is_begun(
    mage: Command, tmp_path: Path, command: tuple[str, ...], killed: str
) -> None:
    begun = tmp_path / "begun"
    action = "os._exit(9)" if killed == "before its log" else "(make(*a, **k), os._exit(9))"
    words = (
        f"{IN_A_PROCESS}import os; from mage_es.events.log import Log; make = Log.create; "
        f"Log.create = lambda *a, **k: {action}; from mage_es.cli import main; "
        f"main({[*command, '--max-calls', '5', '--run-id', 'begun', '--runs-dir', str(begun)]!r})"
    )
    assert subprocess.run([sys.executable, "-c", words], capture_output=True).returncode == 9
    listed = mage("runs", "list", "--runs-dir", str(begun))
    assert "empty" in listed.out and "mage-es resume begun" in listed.out
    other = mage("resume", "--runs-dir", str(begun), "--pool", "21")
    assert other.code == 2 and ", now 21" in other.err
    assert mage("resume", "--runs-dir", str(begun)).code == 3
    assert mage("resume", "begun", "--runs-dir", str(begun), "--max-calls", "none").code == 0
    assert not (begun / "begun" / "beginning").exists()
