"""`mage-es merge` from the outside."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_upgrade import OTHER


@pytest.mark.slow
def test_two_runs_become_one_and_what_was_taken_is_printed(mage: Command, runs_dir: Path) -> None:
    shutil.copytree(runs_dir / "first", runs_dir / "second")
    ended = mage("merge", "first", "second@iter-1", "--run-id", "both")
    assert ended.code == 0, ended.err
    head, one, two = ended.out.splitlines()[1:4]
    assert head.startswith("run ") and "left out: question kept back" in head
    assert one.split()[0] == "first@iter-1" and two.split()[0] == "second@iter-1"
    assert one.split()[1:] == two.split()[1:], "a copy brings the same"
    assert "both has " in ended.out and f"{one.split()[1]} of them from both runs" in ended.out
    assert "mage-es evolve --from both" in ended.err
    assert mage("verify", "both").code == 0
    assert "continues from the memories of first + second" in mage("runs", "show", "both").out


@pytest.mark.slow
def test_what_a_merged_run_has_no_record_of_is_said_and_nothing_is_asked_without_a_yes(
    mage: Command, runs_dir: Path
) -> None:
    shutil.copytree(runs_dir / "first", runs_dir / "second")
    anchors = json.loads(mage("merge", "first", "second", "--run-id", "both", "--json").out)["anchors"]
    before = sorted(runs_dir.iterdir())
    for words, said in (
        (("evolve", "--from", "both"), "What this takes is not known, as both has closed no iteration of its own"),
        (("evolve", "--from", "both"), "Nothing was asked. Proceed without a known price with --yes"),
        (("bisect", "both", "--metric", "anchors"), "both has closed nothing but iter-1"),
        (("bisect", "both", "--metric", "anchors"), "`mage-es evolve --from both` continues it"),
    ):
        ended = mage(*words)
        assert (ended.code, said in ended.err) == (2, True), ended.err
    priced = mage("upgrade", "both", *OTHER, "--questions", "4")
    assert f"About {2 * (anchors + 4)} calls of builtin/copier: 0 recorded questions" in priced.err
    assert "tokens unknown, as no call like these is on record; dollars unknown as well" in priced.err
    assert sorted(runs_dir.iterdir()) == before
    empty = mage("effect", "both", "--yes")
    assert empty.code == 0 and "nothing to measure" in empty.out and "model" not in empty.err


@pytest.mark.slow
def test_as_json_it_is_a_report(mage: Command, runs_dir: Path) -> None:
    shutil.copytree(runs_dir / "first", runs_dir / "second")
    report = json.loads(mage("merge", "first@iter-0", "second", "--json").out)
    assert report["run_id"] == "first+second" and (runs_dir / "first+second").is_dir()
    assert [each["marker"] for each in report["parents"]] == ["iter-0", "iter-1"]
    assert report["memories"] == report["parents"][1]["taken"] > report["parents"][0]["taken"]


@pytest.mark.slow
def test_what_cannot_be_merged_is_named(mage: Command, runs_dir: Path) -> None:
    shutil.copytree(runs_dir / "first", runs_dir / "second")
    for words, why in (
        (("first", "first"), "Both runs are called first"),
        (("first", "secnd"), "second"),
        (("first", "second@iter-0/evaluate"), "continues from a closed iteration"),
        (
            ("first", "second", "--run-id", "first"),
            "There is a run 'first' already in runs: choose another name with --run-id",
        ),
        (("first",), "Missing argument"),
    ):
        ended = mage("merge", *words)
        assert (ended.code, why in ended.err) == (2, True), ended.err
