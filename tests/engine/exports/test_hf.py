"""A run as a data set: what its log counts, in the columns that its card names, and read by `datasets` itself."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from mage_es.engine.exports.hf import HfReport, export_hf
from mage_es.engine.run.directory import Run
from mage_es.engine.run.world import state_of
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.resume import resume
from mage_es.engine.viewing.show import show
from mage_es.engine.viewing.transcript import CallReport, ToolReport
from mage_es.engine.worth.memories import report_of, things_of
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, QuestionPlanned, SplitCommitted
from tests.engine.pears import Echo, in_clear, models_with, stopped

KINDS: dict[str, type | tuple[type, ...]] = {"string": str, "int64": int, "float64": (int, float), "bool": bool}
PLAIN = """
import sys
from datasets import disable_progress_bars, load_dataset

disable_progress_bars()
folder, *tables = sys.argv[1:]
for table in tables:
    given = {"parse_agent_traces": False} if table == "lines" else {}
    read = load_dataset(folder, "traces" if table == "lines" else table, **given)
    for split, rows in read.items():
        print(table, split, rows.num_rows, *sorted(rows.column_names))
"""


@pytest.fixture(scope="module")
def run(small_run: Run) -> Run:
    """A run with an exam. Shared: only read it."""
    examine(small_run, questions=6)
    return small_run


@pytest.fixture(scope="module")
def exported(run: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[HfReport, Path]:
    folder = tmp_path_factory.mktemp("hf") / "out"
    return export_hf(run, folder), folder


def rows_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def front_matter(folder: Path) -> Any:
    return yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])


def test_tables_hold_what_the_logs_of_the_run_and_its_exams_count(run: Run, exported: tuple[HfReport, Path]) -> None:
    report, folder = exported
    reader, state = LogReader(run.log_path), state_of(run, LogReader(run.log_path))
    for split in reader.of(SplitCommitted):
        assert report.rows[f"questions/{split.split}.jsonl"] == split.size
    learned = rows_of(folder / "memories.jsonl")
    assert {row["id"] for row in learned} == {name for name, _ in things_of(state)}
    logs = [reader, *(LogReader(each.log_path) for each in run.exams())]
    judged = [verdict for log in logs for verdict in log.of(AnswerJudged)]
    answers = [row for path in sorted((folder / "answers").iterdir()) for row in rows_of(path)]
    assert report.exams == 1 and len(answers) == len(judged) == report.traces
    count = Counter((row["question_id"], row["purpose"], row["iteration"], row["correct"]) for row in answers)
    assert count == Counter((each.question_id, each.purpose, each.iteration, each.correct) for each in judged)
    assert {row["place"] for row in answers} == {"start", "iter-0", "iter-1", "exam-0001-latest"}


def test_a_memory_has_its_origin_status_and_effect_as_memory_show_tells_them(
    run: Run, exported: tuple[HfReport, Path]
) -> None:
    reader, state = LogReader(run.log_path), state_of(run, LogReader(run.log_path))
    rows = rows_of(exported[1] / "memories.jsonl")
    used = [row for row in rows if row["prompts"]]
    assert used
    for row in (*used[:5], rows[-1]):
        told = report_of(run.id, "latest", reader, state, row["id"])
        assert (row["prompts"], row["right"], row["status"]) == (told.prompts, told.right, told.item.status)
        assert (row["coin_in_right"], row["coin_in"]) == told.coin[0]
        assert row["origin"]["facts"] == list(told.fields["origin"]["facts"]) and row["origin"]["facts"]
        assert row["question"] == told.fields.get("question")


def test_every_row_has_the_columns_of_the_card_and_their_types(exported: tuple[HfReport, Path], run: Run) -> None:
    def check(value: Any, feature: dict[str, Any]) -> None:
        if value is None:
            return
        if "list" in feature:
            each = feature["list"]
            for item in value:
                check(item, {"dtype": each} if isinstance(each, str) else {"struct": each})
        elif "struct" in feature:
            assert list(value) == [field["name"] for field in feature["struct"]]
            for field in feature["struct"]:
                check(value[field["name"]], field)
        else:
            assert isinstance(value, KINDS[feature["dtype"]]), (value, feature)

    folder = exported[1]
    said = front_matter(folder)
    infos = {info["config_name"]: info["features"] for info in said["dataset_info"]}
    configs = {config["config_name"]: config["data_files"] for config in said["configs"]}
    assert [*configs] == ["questions", "memories", "answers", "traces"] and said["license"] == "apache-2.0"
    for name, features in infos.items():
        for file in configs[name]:
            for row in rows_of(folder / file["path"]):
                check(row, {"struct": features})
    traces = [path for file in configs["traces"] for path in folder.glob(file["path"])]
    assert len(traces) == exported[0].traces
    files = {file["path"] for name in infos for file in configs[name]}
    assert files == {*exported[0].rows}


@pytest.mark.slow
def test_a_trace_is_a_session_that_says_what_show_says(course_run: Run, tmp_path: Path) -> None:
    export_hf(course_run, tmp_path / "out")
    reader = LogReader(course_run.log_path)
    routes = {plan.routing_arm: (record.seq, plan) for record in reader.records({QuestionPlanned})
              if isinstance(plan := record.event, QuestionPlanned) and plan.purpose == "fresh"}  # fmt: skip
    assert {"tool", "chain"} & {*routes}
    for seq, plan in routes.values():
        [path] = (tmp_path / "out" / "traces" / "evolution" / f"iter-{plan.iteration}").glob(f"{seq}.jsonl")
        first, *lines = rows_of(path)
        assert (first["type"], first["harness"], first["question_id"]) == ("session", "mage-es", plan.question_id)
        messages = [line["message"] for line in lines]
        assert {line["type"] for line in lines} == {"message"}
        assert {message["role"] for message in messages} <= {"system", "user", "assistant", "tool"}
        report = show(course_run, plan.question_id, iteration=plan.iteration)
        calls = [move for move in report.moves if isinstance(move, CallReport) and move.tier == "execution"]
        replies = [message["content"] for message in messages if message.get("model")]
        assert replies == [call.reply for call in calls]
        said = "\n\n".join(message["content"] for message in messages)
        assert all(call.prompt in said for call in calls if not call.turns)
        ran = [move for move in report.moves if isinstance(move, ToolReport)]
        used = [message["toolCalls"][0] for message in messages if "toolCalls" in message]
        results = {message["toolCallId"]: message["content"] for message in messages if message["role"] == "tool"}
        assert [(each["function"]["name"], each["function"]["arguments"], results[each["id"]]) for each in used] == [
            (move.name, move.arguments, move.problem or move.result) for move in ran
        ]


@pytest.mark.slow
def test_datasets_reads_every_table_and_split_from_disk(
    course_run: Run, exported: tuple[HfReport, Path], tmp_path: Path
) -> None:
    pytest.importorskip("datasets", reason="not needed to write: python -m pip install datasets")
    report = export_hf(course_run, tmp_path / "out", gold=True)  # with runs of tools
    has_reader = importlib.util.find_spec("teich") is not None
    tables = ("questions", "memories", "answers", *(["traces"] if has_reader else []), "lines")
    place = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home"), "HF_DATASETS_OFFLINE": "1"}
    for told, folder in ((report, tmp_path / "out"), exported):
        done = subprocess.run(
            [sys.executable, "-c", PLAIN, str(folder), *tables], capture_output=True, text=True, env=place, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        read = {
            (table, split): (int(rows), columns)
            for table, split, rows, *columns in map(str.split, done.stdout.splitlines())
        }
        for file, count in told.rows.items():
            table, _, split = file.removesuffix(".jsonl").partition("/")
            assert read[table, split or "train"][0] == count
        sessions = sum(rows for (table, _), (rows, _) in read.items() if table == "traces")
        assert sessions == (told.traces if has_reader else 0)
        assert all("message" in columns for (table, _), (_, columns) in read.items() if table == "lines")


def test_right_answers_of_questions_are_there_only_if_asked_for(
    run: Run, exported: tuple[HfReport, Path], tmp_path: Path
) -> None:
    assert {*rows_of(exported[1] / "questions" / "held_out.jsonl")[0]} == {"id", "task_type", "question", "context"}
    export_hf(run, tmp_path / "gold", gold=True)
    golds = {gold.id: gold for gold in LogReader(run.log_path).questions()[1] or ()}
    for row in rows_of(tmp_path / "gold" / "questions" / "held_out.jsonl"):
        assert (row["answer"], row["solution"]) == (golds[row["id"]].gold, golds[row["id"]].solution)
    bare = Run(run.id, shutil.copytree(run.path, tmp_path / "bare" / run.id))
    shutil.rmtree(bare.path / "log" / "golds")
    assert export_hf(bare, tmp_path / "without").rows == exported[0].rows
    with pytest.raises(PrerequisiteError, match="has no gold answers"):
        export_hf(bare, tmp_path / "none", gold=True)
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes_and_until_a_marker_only_what_there_was(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        export_hf(run, tmp_path / name)
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert all((tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes() for file in files)
    start = export_hf(run, tmp_path / "start", until="start")
    assert {*start.rows} == {*(f"questions/{each}.jsonl" for each in ("evolution", "anchors", "held_out"))} | {
        "answers/anchors.jsonl"
    }
    assert start.exams == 0
    with pytest.raises(UsageError, match="not an empty folder"):
        export_hf(run, tmp_path / "one")


@pytest.mark.slow
def test_no_word_of_a_subject_is_exported_whoever_has_the_keys(tmp_path: Path) -> None:
    echo = Echo()
    run = stopped(tmp_path / "runs", echo)
    resume(run, models=models_with(echo))
    report = export_hf(run, tmp_path / "out", gold=True)
    assert not in_clear(tmp_path / "out") and report.left_out and report.licence == "unknown"
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*.jsonl"))
    assert b"sealed:" not in written and b"neighbour" in written
    assert f"{report.left_out} rows with texts of subjects" in (tmp_path / "out" / "README.md").read_text()
