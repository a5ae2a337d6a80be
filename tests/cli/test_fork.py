"""`mage-es fork` from the outside."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_upgrade import OTHER


@pytest.mark.slow
def test_a_run_is_begun_from_a_moment_of_another_and_resume_goes_on(mage: Command, runs_dir: Path) -> None:
    ended = mage("fork", "first", "--at", "iter-0", "--guard", "off", "--iterations", "1", "--run-id", "branch")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("branch continues from iter-0 of first and shares its first ")
    assert "0 calls were made" in ended.out and "mage-es resume branch" in ended.err
    sealed = list((runs_dir / "branch/log/past/log/seg").iterdir())
    assert sealed and all(path.samefile(runs_dir / "first/log/seg" / path.name) for path in sealed)
    for words in (("fork", "branch"), ("bisect", "branch", "--metric", "anchors"), ("upgrade", "branch", *OTHER)):
        early = mage(*words)
        assert early.code == 2 and "branch has not closed an iteration yet: `mage-es resume branch`" in early.err
    resumed = mage("resume", "branch")
    assert resumed.code == 0 and "Starting branch, which has made no call yet." in resumed.err
    assert mage("verify", "branch", "--parent", "first").code == 0
    shown = mage("runs", "show", "branch").out
    assert "first" in shown and "guard" in shown


@pytest.mark.slow
def test_what_it_cannot_begin_from_is_named(mage: Command, runs_dir: Path) -> None:
    for words, why in (
        (("first", "--at", "iter-0/evaluate"), "continues from a closed iteration"),
        (("frist",), "Did you mean first"),
        (("first", "--run-id", "first"), "There is a run 'first' already"),
        ((), "Missing argument"),
    ):
        ended = mage("fork", *words)
        assert (ended.code, why in ended.err) == (2, True), ended.err
    report = json.loads(mage("fork", "first", "--json").out)
    assert report["parent"] == "first" and (runs_dir / report["run_id"]).is_dir()
