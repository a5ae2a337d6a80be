"""`mage-es bisect`: a metric needs no model, a question none without a yes, and the same command is free afterwards."""

import json
from pathlib import Path

import pytest

from mage_es.engine.histories.bisect import BisectMoment, BisectReport
from mage_es.engine.histories.cli.bisect import _ahead, _flipped
from tests.cli.conftest import Command


def asked(mage: Command, *words: str) -> dict[str, object]:
    """Return the report of a search that finds a memory, for the first held-out question that has one."""
    for number in range(40):
        done = mage("bisect", "first", "--question", f"wordmath-test-{number}", "--json", *words)
        if done.code == 0 and json.loads(done.out)["cause"]:
            return dict(json.loads(done.out))
    raise AssertionError("no answer flips")


def test_a_metric_is_found_without_a_model_and_with_what_its_iteration_changed(mage: Command, runs_dir: Path) -> None:
    done = mage("bisect", "first", "--metric", "mastery")
    assert done.code == 0 and "first, mastery: " in done.out and " of start" in done.out
    assert "marker  mastery  guard\nstart " in done.out and "first@start (event " in done.out
    assert "What was learned" in done.out and "mage-es diff first@start first@iter-0" in done.err
    assert not (runs_dir / "first" / "effects").exists()


def test_a_metric_with_equal_ends_says_so(mage: Command, runs_dir: Path) -> None:
    report = json.loads(mage("bisect", "first", "--metric", "anchors", "--json").out)
    ends = [report["moments"][place]["value"] for place in (0, -1)]
    done = mage("bisect", "first", "--metric", "anchors")
    assert (ends[0] == ends[1]) == ("there is no flip to find between them" in done.out)


def test_without_a_yes_the_price_is_printed_and_nothing_is_asked(mage: Command, runs_dir: Path) -> None:
    done = mage("bisect", "first", "--question", "wordmath-test-4")
    assert done.code == 2 and "at most takes about" in done.err and "calls of builtin/analogist" in done.err
    assert " minute" in done.err and "$0.00" in done.err and "Nothing was asked. Proceed at this price" in done.err
    assert not (runs_dir / "first" / "effects").exists()


@pytest.mark.slow
def test_a_question_is_asked_once_and_leads_to_the_memory(mage: Command, runs_dir: Path) -> None:
    found = asked(mage, "--yes")
    question, cause = str(found["question"]), str(found["cause"])[:12]
    done = mage("bisect", "first", "--question", question)
    assert done.code == 0 and "Every answer that is needed is on record: no model is called." in done.err
    assert f"{question} is " in done.out and f"The memory that flips it: {cause}, learned in iter-" in done.out
    assert ", the flip" in done.out and "all else" in done.out and "prompts were asked" not in done.out
    assert f"mage-es memory show {cause} first" in done.err
    ahead = f"mage-es diff first@{found['before']} first@{found['after']} --question {question}"
    assert ahead in done.err and mage(*ahead.split()[1:]).code == 0
    assert mage("verify", "first").code == 0


def test_a_budget_that_is_reached_says_that_the_same_command_goes_on(mage: Command, runs_dir: Path) -> None:
    names = (f"wordmath-test-{number}" for number in range(40))
    searches = ((name, mage("bisect", "first", "--question", name, "--max-calls", "1")) for name in names)
    question, stopped = next((name, done) for name, done in searches if done.code)
    assert stopped.code == 3 and "Every answer so far is kept" in stopped.err
    assert mage("bisect", "first", "--question", question, "--yes").code == 0


def test_what_cannot_be_searched_is_refused_by_name(mage: Command, runs_dir: Path) -> None:
    for words, why in (
        ((), "Give either a metric"),
        (("--metric", "anchor"), "Did you mean anchors?"),
        (("--metric", "anchors", "--good", "iter-7"), "iter-7 is not the end of an iteration"),
        (("--question", "wordmath-test-none"), "first has no question 'wordmath-test-none'"),
        (("--question", "wordmath-test-4", "--good", "latest"), "latest is not before latest"),
    ):
        done = mage("bisect", "first", *words)
        assert (done.code, why in done.err) == (2, True), done.err


def test_a_flip_that_is_not_the_first_is_not_called_so_and_is_not_among_the_others() -> None:
    verdicts = (("start", 0.0), ("iter-0", None), ("iter-1", 1.0), ("iter-2", 0.0), ("iter-3", 0.0), ("iter-4", 1.0))
    moments = tuple(BisectMoment(marker=marker, value=value, source="") for marker, value in verdicts)
    flips = ("iter-1", "iter-2", "iter-4")
    report = BisectReport(
        run_id="r", metric="", question="q", moments=moments, flips=flips, before="iter-3", after="iter-4"
    )
    assert _flipped(report) == (
        "q is wrong at iter-3 and right at iter-4. It is one of 3 flips that are known: others are by iter-1, iter-2. "
        "It is not the first, but the one that took the fewest prompts: `Next` leads to the first."
    )
    first = ("bisect", "r", "--question", "q", "--good", "start", "--bad", "iter-1")
    assert next(_ahead(report)) == first
