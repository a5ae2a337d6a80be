"""`mage-es baseline` from the outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

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


def test_without_a_benchmark_or_with_an_unknown_name_it_is_refused(mage: Command) -> None:
    assert mage("baseline", "zero_shot_cot").code == 2
    assert mage("baseline", "magic", "wordmath").code == 2
