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
    assert json.loads(resumed.out)["baseline"] == "zero_shot_cot"


def test_without_a_benchmark_or_with_an_unknown_name_it_is_refused(mage: Command) -> None:
    assert mage("baseline", "zero_shot_cot").code == 2
    assert mage("baseline", "magic", "wordmath").code == 2
