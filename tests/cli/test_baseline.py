"""`mage-es baseline` from the outside."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.study.baselines.entries import METHODS
from mage_es.engine.study.cli.baseline import LEARNING
from tests.engine.study.test_baseline import hotpot

pytestmark = pytest.mark.slow

Command = Callable[..., Any]


def test_a_baseline_ends_with_its_accuracy_and_is_resumed_as_it_is(mage: Command) -> None:
    words = ("baseline", "zero_shot_cot", "wordmath", "--held-out", "10", "--questions", "5")
    outcome = mage(*words)
    assert outcome.code == 0
    assert "zero_shot_cot" in outcome.out and "/5" in outcome.out
    assert "Next: mage-es report runs" in outcome.err
    resumed = mage("resume", "--json")
    assert resumed.code == 0
    report = json.loads(resumed.out)
    assert report["baseline"] == "zero_shot_cot"
    came_to = f"{report['correct']}/{report['total']} right"
    accuracy = f"accuracy {100 * report['correct'] / 5:.1f} %"
    assert f"baseline zero_shot_cot: {accuracy} ({came_to})" in mage("runs", "show").out
    listed = mage("runs", "list").out.splitlines()[-1].split()
    assert "zero_shot_cot" in listed and f"{100 * report['correct'] / 5:.1f}" in listed


def test_help_names_every_method() -> None:
    assert set(LEARNING.split(", ")) == METHODS.keys()


def test_without_a_benchmark_or_with_an_unknown_name_it_is_refused(mage: Command) -> None:
    assert mage("baseline", "zero_shot_cot").code == 2
    assert mage("baseline", "magic", "wordmath").code == 2


def test_a_baseline_that_spent_its_budget_says_how_to_go_on_with_more_and_shows_no_empty_table(mage: Command) -> None:
    words = ("baseline", "reflexion", "wordmath", "--held-out", "10", "--run-id", "s4", "--max-iterations", "5")
    outcome = mage(*words, "--max-calls", "12")
    assert outcome.code == 3
    assert "Resume it with: mage-es resume s4 --max-calls N\n" in outcome.err
    assert "baseline reflexion:" in outcome.out and "per iteration" not in outcome.out
    assert mage("resume", "s4").code == 3
    assert mage("resume", "s4", "--max-calls", "99").code == 0


def test_react_that_nobody_told_where_to_look_says_so_where_it_begins(mage: Command, tmp_path: Path) -> None:
    outcome = mage("baseline", "react", "hotpotqa", "--held-out", "4", "--data-dir", str(hotpot(tmp_path / "data")))
    assert outcome.code == 0
    assert "react searches the paragraphs that come with the questions, as with --search record." in outcome.err


def test_what_answers_without_a_model_does_not_name_one(mage: Command) -> None:
    words = ("wordmath", "--learn-from", "8", "--questions", "2")
    assert "no model answers, no model writes for nearest_label." in mage("baseline", "nearest_label", *words).err
