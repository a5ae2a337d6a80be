"""`mage-es diff` from the outside."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command, advised


def test_one_run_is_compared_with_its_start(mage: Command, runs_dir: Path) -> None:
    ended = mage("diff", "first")
    assert ended.code == 0 and ended.out.startswith("first@start (event ")
    assert " to first@latest (event " in ended.out and " learned" in ended.out
    assert "The same questions\n" in ended.out and "\nanchors " in ended.out
    assert "What was learned" in ended.out and "\nnew " in ended.out
    assert mage("diff").out == ended.out, "the newest run"


def test_two_moments_are_compared_in_the_order_in_which_they_are_named(mage: Command, runs_dir: Path) -> None:
    ended = mage("diff", "first@iter-1", "@iter-0", "--json")
    report = json.loads(ended.out)
    assert (report["before"]["marker"], report["after"]["marker"]) == ("iter-1", "iter-0")
    assert {each["fate"] for each in report["learned"]} == {"gone"}
    assert ": the same state\n" in mage("diff", "first", "first").out


@pytest.mark.slow
def test_a_question_shows_how_the_prompt_changed(mage: Command, runs_dir: Path) -> None:
    names = (f"wordmath-test-{number}" for number in range(40))
    question = next(name for name in names if json.loads(mage("diff", "--question", name, "--json").out)["prompt"])
    ended = mage("diff", "first", "--question", question)
    assert "\n--- first@start\n+++ first@latest\n System:\n" in ended.out
    assert f"Both put the same prompt before {question}." in mage("diff", "first", "first", "--question", question).out
    assert all(mage(*ahead).code == 0 for ahead in advised(ended.err)), "the run never asked it"


def test_what_cannot_be_compared_is_named(mage: Command, runs_dir: Path) -> None:
    for words, why in (
        (("first@iter-7",), "first has no marker iter-7"),
        (("first@yesterday",), "'yesterday' is not a marker"),
        (("frist", "first"), "frist"),
        (("first", "--question", "wordmath-test-none"), "first has no question 'wordmath-test-none'"),
    ):
        ended = mage("diff", *words)
        assert (ended.code, why in ended.err) == (2, True), ended.err


def test_the_same_state_is_said_only_where_no_table_shows_a_difference(mage: Command, runs_dir: Path) -> None:
    said = set[bool]()
    for at in range(17, 97, 16):
        ended = mage("diff", f"first@seq:{at}", f"first@seq:{at + 16}")
        is_same = "the same state" in ended.out
        said.add(is_same)
        assert is_same != any(title in ended.out for title in ("What was learned", "Knowledge graph", "Arms that")), at
    assert said == {True, False}
