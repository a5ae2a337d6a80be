"""`mage-es upgrade`: the price comes first, and nothing is asked without a yes."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

OTHER = ("--execution", "builtin/copier")


def test_without_a_yes_nothing_is_asked_and_nothing_is_written(mage: Command, runs_dir: Path) -> None:
    before = sorted(runs_dir.iterdir())
    done = mage("upgrade", "first", *OTHER, "--sample", "5")
    assert done.code == 2 and not done.out and sorted(runs_dir.iterdir()) == before
    assert "calls of builtin/copier: 5 recorded questions, 10 anchors and 20 questions" in done.err
    assert "--yes" in done.err and "--max-calls" in done.err


@pytest.mark.slow
def test_with_a_yes_or_a_limit_it_goes_on_and_ends_with_what_is_kept(mage: Command, runs_dir: Path) -> None:
    assert mage("exam", "first", "--at", "start").code == mage("exam", "first").code == 0
    stopped = mage("upgrade", "first", *OTHER, "--sample", "5", "--max-calls", "40")
    assert (
        stopped.code == 3 and "Every answer so far is kept" in stopped.err and (runs_dir / "first-on-copier").is_dir()
    )
    done = mage("upgrade", "first", *OTHER, "--sample", "5", "--yes")  # at the price, whatever the limit was
    assert done.code == 0 and "calls of builtin/copier, 40 of them made" in done.err
    for said in ("its memories", "these memories", "The new model's gain", "gained", "took 70 calls"):
        assert said in done.out
    again = mage("upgrade", "first", *OTHER, "--sample", "5", "--json")  # complete: there is nothing to agree to
    assert again.code == 0 and "no model is called" in again.err
    report = json.loads(again.out)
    assert [each["is_bare"] for each in report["standings"]] == [True, False, True, False] and report["calls"] == 70
    assert mage("verify", "first-on-copier").code == mage("runs", "show", "first-on-copier").code == 0


def test_a_model_that_cannot_answer_is_refused_before_the_price(mage: Command, runs_dir: Path) -> None:
    for model, told in (("builtin/reference", "cannot serve the execution tier"), ("openia/m", "openai")):
        done = mage("upgrade", "first", "--execution", model)
        assert done.code == 2 and told in done.err and "calls of" not in done.err


def test_the_name_of_another_run_is_refused_before_the_price(mage: Command, runs_dir: Path) -> None:
    done = mage("upgrade", "first", *OTHER, "--run-id", "first", "--yes")
    assert done.code == 2 and "not an upgrade of first" in done.err and "calls of" not in done.err


@pytest.mark.slow
def test_the_settings_that_a_model_needs_can_differ(mage: Command, runs_dir: Path) -> None:
    words = ("upgrade", "first", *OTHER, "--sample", "2", "--questions", "2", "--yes")
    assert mage(*words, "--max-tokens", "77", "--no-recall").code == 0
    shown = json.loads(mage("show", "seq:1", "first-on-copier", "--json").out)
    config = json.loads(shown["event"]["config"])
    assert (config["max_tokens"], config["recall"], config["iterations"]) == (77, False, 1)
