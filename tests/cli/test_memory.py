"""`mage-es memory` from the outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def listed(mage: Command, *words: str) -> list[dict[str, Any]]:
    outcome = mage("memory", "list", *words, "--json")
    assert outcome.code == 0
    items: list[dict[str, Any]] = json.loads(outcome.out)["items"]
    return items


def test_what_was_learned_is_listed_and_can_be_narrowed(mage: Command, runs_dir: Path) -> None:
    items = listed(mage)
    principles = listed(mage, "--kind", "principle")
    assert 0 < len(principles) < len(items) and {item["kind"] for item in principles} == {"principle"}
    outcome = mage("memory", "list")
    assert items[0]["memory_id"][:12] in outcome.out and f"{len(items)} of {len(items)} memories" in outcome.out
    assert "Next: mage-es memory show" in outcome.err


def test_a_memory_is_taken_out_of_use_shown_and_brought_back(mage: Command, runs_dir: Path) -> None:
    name = listed(mage)[0]["memory_id"]
    outcome = mage("memory", "quarantine", name[:12], "--reason", "it misleads", "--by", "alice")
    assert outcome.code == 0 and "quarantined" in outcome.out and "it misleads" in outcome.out
    assert f"Next: mage-es memory release {name[:12]}" in outcome.err
    assert [item["memory_id"] for item in listed(mage, "--status", "quarantined")] == [name]

    shown = json.loads(mage("memory", "show", name, "--json").out)
    assert shown["item"]["status"] == "quarantined" and "by alice" in shown["history"][0]
    assert mage("memory", "release", name, "--reason", "it does not").code == 0
    assert listed(mage, "--status", "quarantined") == []
    assert mage("verify").code == 0


def test_an_unknown_memory_is_a_usage_error_and_a_reason_is_required(mage: Command, runs_dir: Path) -> None:
    unknown = mage("memory", "quarantine", "ffffffffffff", "--reason", "x")
    assert (unknown.code, unknown.out) == (2, "") and "mage-es memory list" in unknown.err
    assert mage("memory", "quarantine", "ffffffffffff").code == 2


def test_a_kind_or_status_that_there_is_not_is_refused_with_those_that_there_are(mage: Command, runs_dir: Path) -> None:
    kind, status = mage("memory", "list", "--kind", "princple"), mage("memory", "list", "--status", "x")
    assert (kind.code, kind.out) == (2, "") and "Did you mean principle" in kind.err
    assert (status.code, status.out) == (2, "") and "quarantined" in status.err


def test_a_kind_holds_the_kinds_within_it_and_one_of_which_there_is_nothing_is_empty(
    mage: Command, runs_dir: Path
) -> None:
    kinds = {item["kind"] for item in listed(mage, "--kind", "failure_memory")}
    assert kinds and all(kind.startswith("failure_memory/") for kind in kinds)
    assert listed(mage, "--kind", "abstracted_pattern") == []
    assert mage("memory", "list", "--kind", "abstracted_pattern").err == "\nNext: mage-es memory list first\n"


def test_what_stands_in_quarantine_is_counted_where_the_run_is_shown(mage: Command, runs_dir: Path) -> None:
    name = listed(mage)[0]["memory_id"]
    assert "quarantine" not in mage("runs", "show").out
    mage("memory", "quarantine", name, "--reason", "it misleads")
    assert "1 memory in quarantine" in mage("runs", "show").out
    assert json.loads(mage("runs", "show", "--json").out)["quarantined"] == 1
    mage("memory", "release", name, "--reason", "it does not")
    assert json.loads(mage("runs", "show", "--json").out)["quarantined"] == 0


def test_what_was_done_already_is_refused_with_the_way_back(mage: Command, runs_dir: Path) -> None:
    name = listed(mage)[0]["memory_id"]
    assert "memory list --status quarantined" in mage("memory", "release", name, "--reason", "x").err
    mage("memory", "quarantine", name, "--reason", "x")
    again = mage("memory", "quarantine", name, "--reason", "x")
    assert again.code == 2 and "`mage-es memory release`" in again.err


def test_on_a_narrow_terminal_each_memory_has_one_line_and_on_a_wide_one_every_column(
    mage: Command, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = listed(mage)
    monkeypatch.setattr("mage_es.cli.memory.is_terminal", lambda: True)
    monkeypatch.setattr("mage_es.cli.output.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    narrow = mage("memory", "list").out.splitlines()
    assert max(map(len, narrow)) <= 80 and len(narrow) < len(items) + 9
    for item in items:
        (line,) = (line for line in narrow if item["memory_id"][:8] in line)
        assert item["text"][:20] in line and line.rstrip().endswith("…")
    assert "memory show ID" in " ".join(narrow)
    assert mage("memory", "show", items[0]["memory_id"][:8]).code == 0
    assert listed(mage) == items
    monkeypatch.setenv("COLUMNS", "250")
    assert {"status", "since", "met"} <= set(mage("memory", "list").out.split())


def test_what_is_not_active_says_so_where_each_memory_has_one_line(
    mage: Command, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = listed(mage)[0]["memory_id"]
    mage("memory", "quarantine", name, "--reason", "it misleads")
    monkeypatch.setattr("mage_es.cli.memory.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    (line,) = (line for line in mage("memory", "list").out.splitlines() if name[:8] in line)
    assert line.split()[1] == "quarantined"
