"""`mage-es runs` from the outside."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def test_a_damaged_run_is_listed_as_such_beside_the_others(mage: Command, runs_dir: Path) -> None:
    damage(runs_dir, "second")
    outcome = mage("runs", "list")
    assert outcome.code == 0
    lines = {line.split()[0]: line for line in outcome.out.splitlines()[1:]}
    assert "finished" in lines["first"] and "damaged: " in lines["second"]
    assert [row["state"] for row in json.loads(mage("runs", "list", "--json").out)].count("damaged") == 1
    assert mage("runs", "show", "second").code == 5


def test_a_run_is_shown_with_its_iterations(mage: Command, runs_dir: Path) -> None:
    outcome = mage("runs", "show")
    assert outcome.code == 0
    assert "Accuracy per iteration" in outcome.out
    accuracy, agents, written, explored, spent = outcome.out.split("\n\n")[1:]
    assert [line.split()[0] for line in accuracy.splitlines()[-3:]] == ["start", "0", "1"]
    assert "The six agents" in agents and "mastery steps" in agents
    assert "What EVOLVE wrote" in written
    assert "dynamic tool authoring" in written
    assert "What the latest plan set out to explore" in explored
    assert spent.startswith("Calls, tokens, seconds and dollars")


def test_the_folder_of_the_runs_may_come_from_the_environment(mage: Command, finished: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("MAGE_ES_RUNS_DIR", str(finished))
    assert "first" in mage("runs", "list").out
