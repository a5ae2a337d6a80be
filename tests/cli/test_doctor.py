"""`mage-es doctor` from the outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Command = Callable[..., Any]


def test_a_machine_that_can_run_gives_zero(mage: Command) -> None:
    outcome = mage("doctor", "--json")
    assert outcome.code == 0
    assert {"python", "disk space"} <= {finding["name"] for finding in json.loads(outcome.out)}


def test_what_would_stop_a_run_gives_four_and_the_remedy(mage: Command) -> None:
    outcome = mage("doctor", "--execution", "builtin/nothing")
    assert outcome.code == 4
    assert "FAILED" in outcome.out
    assert "execution model: Choose another with --execution." in outcome.err
