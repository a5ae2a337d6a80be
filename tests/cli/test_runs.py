"""`mage-es runs` from the outside."""

import io
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.run.directory import create_run
from mage_es.events.log import Log

Command = Callable[..., Any]


def test_without_runs_the_way_to_one_is_named(mage: Command) -> None:
    outcome = mage("runs", "list")
    assert (outcome.code, outcome.out) == (0, "No runs in runs.\n")
    assert "mage-es demo" in outcome.err
    assert mage("runs", "list", "--json").out == "[]\n"


def damage(runs_dir: Path, name: str) -> None:
    shutil.copytree(runs_dir / "first", runs_dir / name)
    for path in (runs_dir / name / "log").rglob("*"):
        if path.is_file() and path.name != "FORMAT":
            path.write_bytes(b"\x00" * path.stat().st_size)


@pytest.mark.slow
def test_a_damaged_run_is_listed_as_such_beside_the_others(mage: Command, runs_dir: Path) -> None:
    damage(runs_dir, "second")
    shutil.copytree(runs_dir / "first", runs_dir / "third")
    (runs_dir / "third" / "log" / "FORMAT").unlink()
    shutil.copytree(runs_dir / "first", runs_dir / "fourth")
    (runs_dir / "fourth" / "log" / "HEAD").unlink()
    (runs_dir / "fourth" / "log" / "HEAD").mkdir()
    create_run(runs_dir, benchmark="wordmath", seed=1, run_id="fifth").begin().close()
    outcome = mage("runs", "list")
    assert outcome.code == 0
    lines = {line.split()[0]: line for line in outcome.out.splitlines()[1:]}
    assert "finished" in lines["first"] and "damaged: " in lines["second"] and "damaged: " in lines["third"]
    assert [row["state"] for row in json.loads(mage("runs", "list", "--json").out)].count("damaged") == 3
    assert "empty" in lines["fifth"] and "--run-id fifth" in lines["fifth"]
    for run in ("second", "third", "fourth"):
        assert (mage("runs", "show", run).code, mage("verify", run).code) == (5, 5)
    assert "HEAD is a folder" in mage("resume", "fourth").err and "fourth is left out" in mage("report").err
    assert "FORMAT is missing" in mage("resume", "third").err and "third is left out" in mage("report").err
    assert mage("evolve", "wordmath", "--run-id", "third").code == 5


def test_a_run_is_shown_with_its_iterations(mage: Command, runs_dir: Path) -> None:
    outcome = mage("runs", "show")
    assert outcome.code == 0
    assert "Accuracy per iteration" in outcome.out
    accuracy, anchors, agents, written, explored, spent = outcome.out.split("\n\n")[1:]
    assert [line.split()[0] for line in accuracy.splitlines()[-3:]] == ["start", "0", "1"]
    assert anchors.startswith("Questions asked both ways")
    assert "The six agents" in agents and "mastery steps" in agents
    assert "What EVOLVE wrote" in written
    assert "dynamic tool authoring" in written
    assert "What the latest plan set out to explore" in explored
    assert spent.startswith("Calls, tokens, seconds and dollars")


def test_the_folder_of_the_runs_may_come_from_the_environment(mage: Command, finished: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("MAGE_ES_RUNS_DIR", str(finished))
    assert "first" in mage("runs", "list").out


@pytest.mark.slow
def test_of_episodes_the_mean_score_is_listed_and_shown(mage: Command) -> None:
    sizes = ("--iterations", "1", "--pool", "4", "--held-out", "2", "--anchors", "2", "--explore-episodes", "1")
    mage("evolve", "workshop", *sizes, "--run-id", "w")
    summary = json.loads(mage("runs", "show", "w", "--json").out)
    played = {row["purpose"]: row["mean_score"] for row in summary["episodes"]}
    assert [row["anchor_score"] is not None for row in summary["rows"]] == [True, True]
    assert summary["rows"][1]["fresh_score"] == pytest.approx(played["fresh"])
    fresh = f"{100 * played['fresh']:.1f} %"
    assert f"mean score {fresh}" in mage("runs", "list").out
    shown = mage("runs", "show", "w").out
    assert fresh in shown.partition("Mean score per iteration")[2].splitlines()[3]
    assert "ccuracy" not in shown


@pytest.mark.slow
def test_what_there_is_less_of_than_was_asked_for_is_said_at_the_start_and_where_the_run_is_shown(
    mage: Command,
) -> None:
    sizes = ("--iterations", "1", "--pool", "4", "--held-out", "5000", "--anchors", "5000")
    said = mage("evolve", "wordmath", *sizes, "--max-calls", "5", "--run-id", "cut").err
    shown = mage("runs", "show", "cut").out
    for place in (said, shown):
        assert len(re.findall(r"^ *\d+ questions are held out, not the 5000 of --held-out", place, re.MULTILINE)) == 1
        assert len(re.findall(r"The guard compares \d+ anchors, not the 5000 of --anchors", place)) == 1
    mage("baseline", "zero_shot_cot", "wordmath", "--held-out", "5000", "--questions", "3", "--run-id", "b")
    assert "anchors" not in mage("runs", "show", "b").out


def test_what_there_is_enough_of_is_not_spoken_of(mage: Command, runs_dir: Path) -> None:
    assert "--held-out" not in mage("runs", "show").out


def test_the_command_that_goes_on_finds_the_data_where_it_was_said_to_be(mage: Command, runs_dir: Path) -> None:
    assert mage("runs", "show", "--data-dir", "elsewhere").err.endswith("mage-es exam first --data-dir elsewhere\n")


def test_a_run_with_replies_is_deleted_only_on_demand_and_never_while_it_is_written(
    mage: Command, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mage("runs", "delete").code == 2
    refused = mage("runs", "delete", "first")
    assert (refused.code, "replies of models and 0 exams. Nothing was deleted" in refused.err) == (2, True)
    with Log.open(runs_dir / "first" / "log", clock=lambda: 0):
        assert mage("runs", "delete", "first", "--yes").code == 4
    terminal = io.StringIO("n\ny\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert mage("runs", "delete", "first").code == 2 and (runs_dir / "first" / "log" / "FORMAT").exists()
    outcome = mage("runs", "delete", "first")
    assert (outcome.code, outcome.out) == (0, "runs/first: deleted.\n")
    assert list(runs_dir.iterdir()) == []


def test_a_run_that_no_model_answered_is_deleted_at_once_and_what_is_no_run_never(
    mage: Command, runs_dir: Path, tmp_path: Path
) -> None:
    Log.create(runs_dir / "begun" / "log", run="begun", clock=lambda: 0).close()
    assert mage("runs", "delete", "begun").code == 0 and not (runs_dir / "begun").exists()
    damage(runs_dir, "second")
    assert "a log that cannot be read" in mage("runs", "delete", "second").err
    assert mage("runs", "delete", "second", "--yes").code == 0
    (tmp_path / "photos").mkdir()
    (runs_dir / "linked").symlink_to(runs_dir / "first")
    for name in ("photos", "linked", "."):
        assert mage("runs", "delete", name, "--yes").code == 2
    (runs_dir / "first" / "notes.txt").write_text("mine")
    kept = mage("runs", "delete", "first", "--yes")
    assert (kept.code, "notes.txt" in kept.err) == (2, True)
    assert {path.name for path in runs_dir.iterdir()} == {"first", "linked"} and (tmp_path / "photos").exists()


def test_a_run_of_one_question_tells_that_it_asks_the_same_again(mage: Command, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("question,answer\nWhat is 1 + 1?,2\nWhat is 2 + 5?,7\n")
    words = ("--execution", "builtin/analogist", "--iterations", "3", "--run-id", "two")
    assert "no question was new in 2 iterations, first in 1:" in mage("evolve", "two.csv", *words).out
    assert re.search(r"dynamic tool authoring .* not used without --bandits", mage("runs", "show").out)


@pytest.mark.slow
def test_a_folder_that_gets_another_name_is_the_run_of_that_name(mage: Command, runs_dir: Path) -> None:
    (runs_dir / "first").rename(runs_dir / "better")
    assert mage("runs", "show", "first").code == 2
    for words in (
        ("exam", "better", "--questions", "3"),
        ("effect", "better", "--top", "1", "--yes"),
        ("verify", "better"),
    ):
        done = mage(*words)
        assert done.code == 0, done.err
    assert mage("fork", "better", "--at", "iter-0", "--run-id", "child").code == 0
    assert mage("verify", "child", "--parent", "better").code == 0
