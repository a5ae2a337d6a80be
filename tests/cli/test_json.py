"""With `--json` each command puts one JSON document on stdout and nothing else, whether it succeeds or not."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_examples import LEAVES

QUESTION = "A shop has 8 crates with 14 bottles each. If 20 bottles break, how many bottles are left?"
SMALL = ("--iterations", "1", "--pool", "4", "--held-out", "4", "--anchors", "2")
DONE: dict[str, tuple[str, ...]] = {
    "evolve": ("wordmath", *SMALL),
    "resume": ("first",),
    "replay": ("first",),
    "exam": ("first", "--questions", "3"),
    "ask": (QUESTION,),
    "verify": ("first",),
    "reproduce": ("first",),
    "baseline": ("zero_shot_cot", "wordmath", "--held-out", "4"),
    "try": ("wordmath", "--questions", "4", "--learn-from", "8"),
    "upgrade": ("first", "--execution", "builtin/copier", "--sample", "3", "--questions", "3", "--yes"),
    "effect": ("first", "--top", "2", "--yes"),
    "what-if": ("first", "--guard", "off"),
    "rejudge": ("first", "--judge", "truth/judge", "--yes"),
    "ring": ("wordmath", "--methods", "zero_shot", "--held-out", "4"),
    "export": ("first", "--format", "csv", "--to", "exported"),
    "view": ("first", "--to", "run.html"),
    "matrix": ("matrix.toml", "--dry-run"),
    "report": ("runs",),
    "backup": ("first", "kept"),
    "doctor": ("--no-calls",),
    "diff": ("first@start", "first"),
    "fork": ("first", "--at", "iter-0"),
    "bisect": ("first", "--metric", "mastery"),
    "runs list": (),
    "runs show": ("first",),
    "runs delete": ("first", "--yes"),
    "explain": ("anchor",),
    "show": ("seq:1",),
    "memory list": ("first",),
    "memory prune": ("first",),
    "fetch": (),
    "config": (),
    "key new": ("mine.key",),
    "new": ("benchmark", "mine"),
}
"""What each command is given so that it succeeds."""
MATRIX = """
benchmarks = ["wordmath"]
learners = ["benchmark"]
teachers = ["benchmark"]
seeds = [1]
[settings]
iterations = 1
pool = 4
"""
REFUSED: dict[str, tuple[str, ...]] = {
    "demo": ("--workers", "none"),
    "show": ("no-such-question",),
    "merge": ("first", "first"),
    "score": ("wordmath", "--predictions", "nowhere.jsonl"),
    "restore": ("nowhere", "again"),
    "erase": ("first", "--subject", "ann"),
    "memory show": ("ffff",),
    "memory quarantine": ("ffff", "--reason", "x"),
    "memory release": ("ffff", "--reason", "x"),
    "memory review": ("no-such-run",),
    "memory approve": ("ffff", "--reason", "x"),
    "memory reject": ("ffff", "--reason", "x"),
    "fetch": ("no-such-benchmark",),
    "key sign": (),
    "key cosign": ("first", "--with", "nowhere.key"),
    "receipt": ("no-such-question", "first"),
    "serve": ("--upstream", "nowhere"),
    **dict.fromkeys(("mcp", "publish", "gain"), ("no-such-run",)),
    **dict.fromkeys(("exam", "replay", "verify", "resume", "runs show", "memory list"), ("no-such-run",)),
}
"""What a command refuses, or fails at."""
IN_LINES = {"log"}
"""The command whose every line is a document."""


def test_every_command_is_tried() -> None:
    assert {*DONE, *REFUSED, *IN_LINES} == {" ".join(names) for names in LEAVES}


@pytest.mark.slow
@pytest.mark.parametrize("command", DONE)
def test_what_is_done_is_one_document(command: str, mage: Command, runs_dir: Path) -> None:
    Path("matrix.toml").write_text(MATRIX)
    outcome = mage(*command.split(), *DONE[command], "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)


@pytest.mark.parametrize("command", REFUSED)
def test_what_is_refused_is_one_document_with_the_words_that_people_see(
    command: str, mage: Command, runs_dir: Path
) -> None:
    outcome = mage(*command.split(), *REFUSED[command], "--json")
    document = json.loads(outcome.out)
    assert document == {"error": document["error"], "exit_code": outcome.code} and outcome.code
    assert document["error"] in outcome.err


def test_a_log_is_told_in_lines_of_one_document_each(mage: Command, runs_dir: Path) -> None:
    lines = mage("log", "first", "-n", "5", "--json").out.splitlines()
    assert [isinstance(json.loads(line)["seq"], int) for line in lines] == [True] * 5


def test_an_exam_that_stops_at_its_budget_is_a_document_too(mage: Command, runs_dir: Path) -> None:
    outcome = mage("exam", "first", "--max-calls", "3", "--json")
    document = json.loads(outcome.out)
    assert (outcome.code, document["exit_code"]) == (3, 3)
    assert "Continue with: mage-es exam first" in document["error"]
