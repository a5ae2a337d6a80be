"""`mage-es verify` from the outside."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MasteryUpdated, MemoryQuarantined
from tests.engine.forgery import after, forged

Command = Callable[..., Any]


@pytest.mark.slow
def test_a_sound_run_passes_every_check(mage: Command, runs_dir: Path) -> None:
    mage("exam", "--questions", "3")
    outcome = mage("verify")
    assert outcome.code == 0
    assert "FAILED" not in outcome.out and " ok " in outcome.out
    assert "Next: mage-es runs show first" in outcome.err


def test_a_changed_byte_is_found_named_and_gives_exit_code_five(mage: Command, runs_dir: Path) -> None:
    path = max((runs_dir / "first" / "log").rglob("*.parquet"), key=lambda path: path.stat().st_size)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    outcome = mage("verify", "--json")
    assert outcome.code == 5
    failed = [check for check in json.loads(outcome.out)["checks"] if not check["ok"]]
    assert path.name in failed[0]["detail"]


@pytest.mark.slow
def test_each_check_prints_its_margin(mage: Command, runs_dir: Path) -> None:
    outcome = mage("verify", "--json")
    checks = {check["name"]: check for check in json.loads(outcome.out)["checks"]}
    assert list(checks) == [
        "log",
        "questions",
        "replay",
        "splits",
        "leaks",
        "target leaks",
        "growth",
        "origins",
        "coverage",
        "ratchet",
        "own memories",
        "never worse",
        "requests",
        "inference",
        "settings",
        "learned",
        "scorer",
        "verdicts",
        "paraphrases",
        "oddities",
    ]
    assert all(check["measured"] and check["bound"] and check["seq"] == 0 for check in checks.values())
    assert "VACUOUS" in checks["coverage"]["detail"]


@pytest.mark.slow
def test_a_broken_theorem_gives_exit_code_one_and_the_first_event_that_breaks_it(mage: Command, runs_dir: Path) -> None:
    source = runs_dir / "first"
    events = (MemoryQuarantined(memory_id="nobody", reason="", by="user"),)
    forged(source / "log", runs_dir / "second" / "log", after(MasteryUpdated, *events))
    outcome = mage("verify", "second", "--json")
    broken = [check for check in json.loads(outcome.out)["checks"] if not check["ok"]]
    named = next(iter(LogReader(runs_dir / "second" / "log").records({MemoryQuarantined})))
    assert outcome.code == 1
    assert [(check["name"], check["seq"]) for check in broken] == [("growth", named.seq), ("learned", named.seq)]


@pytest.mark.slow
def test_a_damaged_snapshot_and_a_file_of_an_exam_are_named(mage: Command, runs_dir: Path) -> None:
    mage("exam", "--questions", "2")
    [*_, snapshot] = sorted((runs_dir / "first" / "snapshots").iterdir())
    snapshot.write_bytes(snapshot.read_bytes() * 2)
    outcome = mage("verify", "--json")
    replayed = next(check for check in json.loads(outcome.out)["checks"] if check["name"] == "replay")
    assert outcome.code == 0 and snapshot.name in replayed["detail"]
    [tail] = (runs_dir / "first" / "exams" / "0001-latest" / "log" / "wal").iterdir()
    tail.write_bytes(tail.read_bytes()[:-1])
    outcome = mage("verify", "--json")
    assert outcome.code == 5 and f"{tail.name}, events from" in outcome.out


@pytest.mark.slow
def test_a_type_that_is_the_label_fails_by_name_and_a_copy_without_gold_says_unchecked(
    mage: Command, tmp_path: Path
) -> None:
    rows = [
        f"ticket {k} of street {k * 7},{label},{label}" for k in range(90) for label in [("late", "lost")[k % 7 % 2]]
    ]
    (tmp_path / "mine.csv").write_text("\n".join(["text,label,category", *rows]) + "\n")
    own = ("mine.csv", "--columns", "question=text", "--execution", "builtin/analogist")
    begun = mage("evolve", *own, "--iterations", "1", "--pool", "4", "--run-id", "leaky")
    said = "The task type gives the answer away"
    assert begun.code == 0 and said in begun.err and said in mage("doctor", *own[:3]).err
    outcome = mage("verify", "leaky", "--json")
    [failed] = [check for check in json.loads(outcome.out)["checks"] if not check["ok"]]
    assert outcome.code == 1 and "Restore" not in outcome.err
    assert (failed["name"], failed["damaged"]) == ("target leaks", False)
    assert said in failed["detail"] and "--columns task_type=" in failed["detail"]
    shutil.rmtree(tmp_path / "runs" / "leaky" / "log" / "golds")
    outcome = mage("verify", "leaky", "--json")
    [check] = [check for check in json.loads(outcome.out)["checks"] if check["name"] == "target leaks"]
    assert outcome.code == 0 and check["detail"] == "unchecked: this copy was made without gold answers"
