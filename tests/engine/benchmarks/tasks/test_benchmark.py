"""Own tasks from every kind of file, divided so that nothing is examined that was learned from."""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mage_es.cli.own_tasks import named
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.benchmarks.tasks import ROLES
from mage_es.engine.benchmarks.tasks.benchmark import given_tasks
from mage_es.engine.seams.benchmark import column_roles_of
from mage_es.engine.testing import check_benchmark
from mage_es.events.errors import PrerequisiteError, UsageError

ROWS = [{"prompt": f"{k} + 1?", "label": str(k + 1), "n": str(k)} for k in range(40)]


def write(folder: Path, ending: str, rows: list[dict[str, str]] = ROWS) -> Path:
    path = folder / f"mine.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif ending == "json":
        path.write_text(json.dumps(rows))
    elif ending == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if ending == "tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "tsv", "parquet"])
def test_every_kind_of_file_gives_the_same_questions(tmp_path: Path, ending: str) -> None:
    expected = open_benchmark(f"tasks/{write(tmp_path, 'jsonl')}?scorer=number", seed=1)
    opened = open_benchmark(f"tasks/{write(tmp_path, ending)}?scorer=number", seed=1)
    for split in ("evolution", "test"):
        assert [(q.id, q.question, q.gold) for q in opened.questions(split)] == [
            (q.id, q.question, q.gold) for q in expected.questions(split)
        ]
    check_benchmark(lambda seed: opened, 1)


def test_a_row_that_repeats_another_is_left_out_and_named_and_evolution_gives_way(tmp_path: Path) -> None:
    rows = [
        {"id": k, "question": q, "answer": a}
        for k, q, a in (("a", "Why?", "x"), ("b", " Why? ", "X"), ("c", "How?", "y"))
    ]
    (tmp_path / "held.json").write_text(json.dumps([{"id": "t", "question": "How?", "answer": "y"}]))
    path = write(tmp_path, "json", rows)
    opened = open_benchmark(f"tasks/{path}?test={tmp_path}/held.json", seed=1)
    assert list(map(str, opened.repeats)) == ["b repeats a", "c repeats t"]  # type: ignore[attr-defined]
    assert [[q.id for q in opened.questions(split)] for split in ("evolution", "test")] == [["a"], ["t"]]


def test_two_answers_to_one_question_and_two_questions_of_one_id_are_refused_with_their_ids(tmp_path: Path) -> None:
    rows = [
        {"question": "Why?", "answer": "x"},
        {"question": "How?", "answer": "y"},
        {"question": "Why?", "answer": "z"},
    ]
    with pytest.raises(
        PrerequisiteError, match=r"row-1 and row-3 ask the same, 'Why\?', and have two answers: 'x' and 'z'"
    ):
        open_benchmark(f"tasks/{write(tmp_path, 'json', rows)}", seed=1)
    (tmp_path / "held.json").write_text(json.dumps([{"id": "row-1", "question": "Who?", "answer": "y"}]))
    with pytest.raises(PrerequisiteError, match="row-1 is the id of two questions"):
        open_benchmark(f"tasks/{write(tmp_path, 'json', rows[:2])}?test={tmp_path}/held.json", seed=1)


def test_where_rows_ask_the_same_of_different_contexts_the_context_is_part_of_the_question(tmp_path: Path) -> None:
    rows = [{"question": "Is it praise?", "context": f"Review {k}.", "answer": "no"} for k in range(3)]
    rows.append({"question": "Is it long?", "context": "Review 1.", "answer": "no"})
    opened = open_benchmark(f"tasks/{write(tmp_path, 'json', rows)}", seed=1)
    assert [(q.question, q.context) for q in opened.questions("evolution")] == [
        *((f"Is it praise?\n\nReview {k}.", "") for k in range(3)),
        ("Is it long?", "Review 1."),
    ]


def test_every_role_is_told_with_the_columns_that_had_it_in_any_row(tmp_path: Path) -> None:
    rows = [{"text": "Why?", "category": "x"}, {"text": "How?", "category": "y", "page": "1", "type": "deep"}]
    opened = open_benchmark(f"tasks/{write(tmp_path, 'jsonl', rows)}?columns=question:text,answer:category", seed=1)
    roles = {role: column for role, column in column_roles_of(opened).items() if column}
    assert roles == {"question": "text", "answer": "category", "task_type": "type"}
    assert set(column_roles_of(opened)) == set(ROLES)
    given = given_tasks("mine?columns=question:text,answer:category,task_type:", rows)
    assert {role: column for role, column in given.column_roles.items() if column} == {
        "question": "text",
        "answer": "category",
    }
    assert {q.task_type for q in given.questions("evolution")} == {"task"}


def test_a_second_file_is_only_examined(tmp_path: Path) -> None:
    (tmp_path / "held.csv").write_text("question,answer\nWhy?,Because\n")
    opened = open_benchmark(f"tasks/{write(tmp_path, 'jsonl')}?test={tmp_path}/held.csv", seed=1)
    assert [question.question for question in opened.questions("test")] == ["Why?"]
    assert len(opened.questions("evolution")) == len(ROWS)


@pytest.mark.parametrize(
    ("ending", "content", "complaint"),
    [
        ("jsonl", '{"question": "x", "answer": "y"}\n{"question": "z"}\n', ", line 2: answer: there is no such column"),
        ("csv", "question,answer\nx,y\nz\n", ", line 3: expected 2 fields, as in the header, but found 1"),
        ("csv", 'question,answer\n"x\ny",z\n,w\n', ", line 4: question: is empty"),
        ("jsonl", '{"id": 1, "question": "x", "answer": "y"}\n' * 2, ", line 2: id: '1' is already the id of row 1"),
        ("csv", "", " is empty"),
        (
            "csv",
            "question,answer\n",
            r" has a first line, which names the columns \(question,answer\), but no row below it",
        ),
        ("json", "[]", " contains an empty list"),
    ],
)
def test_a_row_that_is_no_task_is_named_by_file_and_line(
    tmp_path: Path, ending: str, content: str, complaint: str
) -> None:
    path = tmp_path / f"mine.{ending}"
    path.write_text(content)
    with pytest.raises(PrerequisiteError, match=rf"mine\.{ending}{complaint}"):
        open_benchmark(f"tasks/{path}?scorer=exact", seed=1)


def test_a_file_with_another_ending_is_no_benchmark_but_a_file_to_export(tmp_path: Path) -> None:
    (tmp_path / "mine.xlsx").write_bytes(b"PK")
    with pytest.raises(UsageError, match=r"mine\.xlsx ends in none of \.json, .*\.parquet, .*: export the table"):
        open_benchmark(str(tmp_path / "mine.xlsx"), seed=1)
    with pytest.raises(UsageError, match=r"mine\.xlsx ends in none of"):
        named(str(tmp_path / "mine.xlsx"), {"scorer": "number"})


def test_a_missing_file_says_how_a_data_set_of_the_hub_is_named(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="write hf:owner/quiz"):
        open_benchmark("tasks/owner/quiz?scorer=exact", seed=1, data_dir=tmp_path)
