"""`mage-es export` from the outside."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged

Command = Callable[..., Any]


def test_parquet_files_of_a_run_can_be_read_by_anything(mage: Command, runs_dir: Path) -> None:
    outcome = mage("export", "--format", "parquet", "--to", "out")
    assert outcome.code == 0
    assert "answer.judged.parquet" in outcome.out
    assert "SCHEMA.md explains every column" in outcome.err
    judged = pl.read_parquet("out/answer.judged.parquet")
    assert set(judged["run"]) == {"first"}
    assert judged.filter(pl.col("purpose") == "fresh").height == 30


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_until_a_marker_only(mage: Command, runs_dir: Path, format: str) -> None:
    outcome = mage("export", "first", "--format", format, "--to", "out", "--until", "iter-0", "--json")
    report = json.loads(outcome.out)
    assert sum(report["files"].values()) == report["until"]
    assert report["until"] == LogReader(runs_dir / "first" / "log").resolve("iter-0")


def test_what_is_refused(mage: Command, runs_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").write_text("mine")
    full = mage("export", "--format", "csv", "--to", "out")
    assert (full.code, "out is not an empty folder" in full.err) == (2, True)
    unknown = mage("export", "--format", "xlsx", "--to", "new")
    assert (unknown.code, "parquet" in unknown.err) == (2, True)
    marker = mage("export", "--format", "csv", "--to", "new", "--until", "iter-9")
    assert (marker.code, "iter-1" in marker.err) == (2, True)
    assert not (tmp_path / "new").exists()


def test_a_question_is_a_trace_of_opentelemetry(mage: Command, runs_dir: Path) -> None:
    outcome = mage("export", "--format", "otlp", "--to", "out", "--until", "iter-0", "--json")
    report = json.loads(outcome.out)
    lines = Path("out/traces.jsonl").read_text().splitlines()
    spans = [each for line in lines for each in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    assert report["spans"] == len(spans) > 0
    assert all(len(span["traceId"]) == 32 and len(span["spanId"]) == 16 for span in spans)
    asked = LogReader(runs_dir / "first" / "log").of(AnswerJudged, until=report["until"])
    assert sum(span["name"] == "invoke_agent Learner" for span in spans) == len(list(asked))


def test_what_belongs_to_traces_is_refused_with_other_formats(mage: Command, runs_dir: Path) -> None:
    for words in (("--endpoint", "http://localhost:4318"), ("--to", "out", "--texts")):
        refused = mage("export", "--format", "csv", *words)
        assert (refused.code, "belong to --format otlp" in refused.err) == (2, True)
    nowhere = mage("export", "--format", "csv")
    assert (nowhere.code, "--to FOLDER" in nowhere.err) == (2, True)


@pytest.mark.slow
def test_a_run_is_a_data_set_with_a_card(mage: Command, runs_dir: Path) -> None:
    outcome = mage("export", "first", "--format", "hf", "--to", "out", "--json")
    report = json.loads(outcome.out)
    assert outcome.code == 0 and (report["run"], report["licence"], report["left_out"]) == ("first", "apache-2.0", 0)
    assert report["traces"] == len(list(Path("out/traces").rglob("*.jsonl"))) > 0
    assert "answer" not in json.loads(Path("out/questions/held_out.jsonl").read_text().splitlines()[0])
    card = Path("out/README.md").read_text()
    assert "license: apache-2.0" in card and "mage-es replay first --until seq:" in card
    told = mage("export", "first", "--format", "hf", "--to", "again", "--gold")
    assert "memories.jsonl" in told.out and Path("again/questions/held_out.jsonl").read_text().count('"answer"') == 20
    refused = mage("export", "--format", "csv", "--gold", "--to", "new")
    assert (refused.code, "--gold belongs to --format hf" in refused.err) == (2, True)


def test_logs_of_inspect_need_its_package_or_are_written(mage: Command, runs_dir: Path) -> None:
    assert mage("exam", "--questions", "5").code == 0
    outcome = mage("export", "--format", "inspect", "--to", "logs", "--json")
    if find_spec("inspect_ai"):
        assert [log["file"] for log in json.loads(outcome.out)["logs"]] == ["0001-latest.eval"]
        assert Path("logs/0001-latest.eval").is_file()
    else:
        assert (outcome.code, "python -m pip install 'mage-es[inspect]'" in outcome.err) == (4, True)
        assert not Path("logs").exists()
