"""`mage-es report` from the outside."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Command = Callable[..., Any]


@pytest.fixture
def examined(mage: Command, runs_dir: Path) -> Path:
    assert mage("exam", "first").code == 0
    return runs_dir


def test_every_table_with_data_is_shown_and_the_others_are_named(mage: Command, examined: Path) -> None:
    outcome = mage("report")
    assert outcome.code == 0
    words, blank, rest = outcome.out.split("\n", 6)[1:5], *outcome.out.split("\n", 6)[5:]
    assert words[0].startswith("wordmath with analogist: ") and "after learning, on questions it never saw" in words[0]
    assert words[1] == "Exams taken: 0 before and 1 after learning, in 1 run."
    assert words[2].startswith("Model calls without exams: ") and "mage-es explain" in words[3] and blank == ""
    assert rest.startswith("Main results")
    assert "Main results: baselines and the full system (main; paper: tab:reasoning)" in outcome.out
    assert "Tables without data: extension, " in outcome.err


def test_json_has_the_numbers_with_deviation_and_n(mage: Command, examined: Path) -> None:
    (table,) = json.loads(mage("report", "runs", "variance", "--json").out)
    cell = next(entry for entry in table["rows"][0] if isinstance(entry, dict))
    assert (cell["type"], cell["n"], cell["sd"]) == ("cell", 1, None)


def test_files_are_written_into_a_folder_with_the_figures(mage: Command, examined: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="python -m pip install 'mage-es[figures]'")
    outcome = mage("report", "runs", "--format", "csv", "--to", "out", "--figures")
    assert (outcome.code, outcome.out) == (0, "")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"main.csv", "cost.csv", "accuracy-wordmath.svg", "cost.svg", "cost.png", "cost.pdf"} <= names


def test_one_table_goes_to_stdout_as_csv_and_several_do_not(mage: Command, examined: Path) -> None:
    assert mage("report", "runs", "matrix", "--format", "csv").out.startswith("Learner,Benchmark,reference,")
    outcome = mage("report", "runs", "--format", "csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--to FOLDER" in outcome.err


@pytest.mark.parametrize(
    ("words", "part"),
    [(["nowhere"], "mage-es matrix"), (["runs", "mian"], "main"), (["runs", "--figures"], "--to FOLDER")],
)
def test_what_cannot_be_reported_is_a_usage_error(mage: Command, runs_dir: Path, words: list[str], part: str) -> None:
    outcome = mage("report", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert part in outcome.err
