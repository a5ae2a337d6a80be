"""`mage-es ask` from the outside."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Command = Callable[..., Any]
QUESTION = "Ana packs 4 boxes with 6 jars each. She gives 5 jars away. How many jars are left?"


def test_a_question_is_answered_from_the_newest_run(mage: Command, runs_dir: Path) -> None:
    outcome = mage("ask", QUESTION, "--json")
    report = json.loads(outcome.out)
    assert (outcome.code, report["run_id"], report["marker"]) == (0, "first", "latest")
    assert QUESTION in report["prompt"]
    assert report["answer"] in report["reply"]


def test_a_question_that_is_far_from_all_that_was_learned_is_said_to_be(mage: Command) -> None:
    assert (
        mage("evolve", "wordmath", "--iterations", "3", "--pool", "60", "--held-out", "10", "--anchors", "10").code == 0
    )
    assert "far from all that was learned" in mage("ask", "Which river flows through the capital of Hungary?").err
    assert "far from" not in mage("ask", QUESTION).err


def test_a_question_may_come_from_stdin(mage: Command, runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(QUESTION + "\n"))
    outcome = mage("ask", "-", "first", "--at", "iter-0")
    assert outcome.code == 0
    assert "Task type" in outcome.out and "Answer: " in outcome.out


def test_the_next_step_is_the_other_state(mage: Command, runs_dir: Path) -> None:
    assert "--at start" in mage("ask", QUESTION).err
    assert "--at latest" in mage("ask", QUESTION, "--at", "start").err


def test_nothing_is_recorded(mage: Command, runs_dir: Path) -> None:
    before = {path: path.read_bytes() for path in (runs_dir / "first" / "log").rglob("*") if path.is_file()}
    mage("ask", QUESTION)
    assert {path: path.read_bytes() for path in (runs_dir / "first" / "log").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("words", [[" \n"], [QUESTION, "--at", "iter-5"], [QUESTION, "second"]])
def test_what_cannot_be_asked_is_a_usage_error(mage: Command, runs_dir: Path, words: list[str]) -> None:
    outcome = mage("ask", *words)
    assert (outcome.code, outcome.out) == (2, "")


def test_without_a_question_at_a_terminal_one_is_asked_for(
    mage: Command, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    outcome = mage("ask")
    assert (outcome.code, "No question was given" in outcome.err) == (2, True)
