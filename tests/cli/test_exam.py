"""`mage-es exam` from the outside."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_exam_makes_no_guidance_call_and_leaves_the_log_as_it_was(mage: Command, runs_dir: Path) -> None:
    before = content(runs_dir / "first" / "log")
    outcome = mage("exam", "--questions", "12", "--json")
    report = json.loads(outcome.out)
    assert (outcome.code, report["total"], report["guidance_calls"]) == (0, 12, 0)
    assert content(runs_dir / "first" / "log") == before


def test_an_exam_is_shown_as_a_table(mage: Command, runs_dir: Path) -> None:
    outcome = mage("exam", "first", "--at", "start", "--questions", "5", "--control", "shuffled")
    assert outcome.code == 0
    assert outcome.out.startswith("Exam at start, control shuffled\n")
    assert "0 guidance calls" in outcome.out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--at", "iter-7"], "iter-"),
        (["--questions", "0"], "--questions"),
        (["--questions", "21"], "20"),
        (["--control", "shufled"], "shuffled"),
    ],
)
def test_what_cannot_be_examined_is_a_usage_error(mage: Command, runs_dir: Path, words: list[str], part: str) -> None:
    outcome = mage("exam", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert part in outcome.err


def test_what_comes_next_is_the_exam_that_is_missing_and_then_the_report(mage: Command, runs_dir: Path) -> None:
    few = ("--questions", "2")
    assert mage("exam", *few).err.endswith("Next: mage-es exam first --at start\n")
    assert mage("exam", "--at", "start", *few).err.endswith("Next: mage-es report runs\n")
    shutil.rmtree(next((runs_dir / "first" / "exams").glob("*-latest")))
    assert mage("exam", "--at", "iter-0", *few).err.endswith("Next: mage-es exam first\n")
