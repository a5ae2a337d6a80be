"""`mage-es doctor` from the outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.engine.models.provider import provider

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


def test_it_says_whom_it_asks_and_how_to_leave_that(mage: Command) -> None:
    with provider(answer=lambda body: "hello") as server:
        spec = f"openai/exec?base_url={server.openai_url}"
        outcome = mage("doctor", "--execution", spec)
        loud = len(server.asked)
        quiet = mage("doctor", "--execution", spec, "--no-calls")
        assert len(server.asked) == loud == 1
    assert "Asking openai/exec: " in outcome.err and "--no-calls" in outcome.err
    assert "execution endpoint" in outcome.out and "Asking" not in quiet.err
    assert (outcome.code, quiet.code) == (0, 0)


def test_the_command_that_checks_again_asks_about_the_same_models(mage: Command) -> None:
    outcome = mage("doctor", "--execution", "openai/exec?base_url=http://127.0.0.1:9/v1")
    assert outcome.code == 4
    assert "Next: mage-es doctor --execution 'openai/exec?base_url=http://127.0.0.1:9/v1'" in outcome.err
