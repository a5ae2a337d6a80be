"""Reading GSM8K: every record as it is upstream, all or nothing, and types from the annotations."""

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mage_es.engine.bench.dataset import Dataset
from mage_es.engine.bench.gsm8k import GSM8K, task_type_of
from mage_es.events.errors import PrerequisiteError

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[4] / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not list((DATA / "gsm8k").glob("train.jsonl*")), reason=f"no GSM8K in {DATA}; set MAGE_ES_DATA"
)

GOOD = {"question": "2 + 3?", "answer": "It is 2 + 3 = <<2+3=5>>5.\n#### 5"}


def write(folder: Path, train: str, test: str = json.dumps(GOOD) + "\n") -> Path:
    (folder / "gsm8k").mkdir()
    (folder / "gsm8k" / "train.jsonl").write_text(train)
    (folder / "gsm8k" / "test.jsonl").write_text(test)
    return folder


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_record_becomes_a_question_with_upstream_text_and_row(tmp_path: Path) -> None:
    benchmark = Dataset(GSM8K, write(tmp_path, lines(GOOD, {"question": "7?", "answer": "x\ny\n#### 1,000"})))
    first, second = benchmark.questions("evolution")
    assert (first.id, first.split, first.gold, first.task_type) == ("gsm8k-train-0", "evolution", "5", "gsm8k_1step")
    assert (first.question, first.solution) == (GOOD["question"], "It is 2 + 3 = 5.\n#### 5")
    assert (second.id, second.gold, second.task_type) == ("gsm8k-train-1", "1000", "gsm8k_2step")
    assert benchmark.questions("test")[0].id == "gsm8k-test-0"
    assert benchmark.score(second, "#### 1,000").strict


def test_parquet_as_hugging_face_has_it_gives_the_same_questions(tmp_path: Path) -> None:
    (tmp_path / "lines").mkdir()
    expected = Dataset(GSM8K, write(tmp_path / "lines", lines(GOOD, GOOD)))
    (tmp_path / "gsm8k" / "main").mkdir(parents=True)
    for split, records in (("train", [GOOD, GOOD]), ("test", [GOOD])):
        pq.write_table(pa.Table.from_pylist(records), tmp_path / "gsm8k" / "main" / f"{split}-00000-of-00001.parquet")
    found = Dataset(GSM8K, tmp_path)
    assert found.questions("evolution") == expected.questions("evolution")
    assert found.questions("test") == expected.questions("test")


def test_gzipped_files_give_the_same_questions_and_hash(tmp_path: Path) -> None:
    plain = Dataset(GSM8K, write(tmp_path, lines(GOOD)))
    for path in (tmp_path / "gsm8k").iterdir():
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    zipped = Dataset(GSM8K, tmp_path)
    assert zipped.data_sha256 == plain.data_sha256
    assert zipped.questions("evolution") == plain.questions("evolution")


def test_the_data_hash_changes_with_any_byte(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = Dataset(GSM8K, write(tmp_path / "a", lines(GOOD)))
    two = Dataset(GSM8K, write(tmp_path / "b", lines({**GOOD, "question": "2 + 3 ?"})))
    assert one.data_sha256 != two.data_sha256


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{not json}", "malformed"),
        ("[1, 2]", "Expected `object`"),
        ('"text"', "Expected `object`"),
        (json.dumps({"question": "x"}), "missing required field `answer`"),
        (json.dumps({**GOOD, "extra": 1}), "unknown field `extra`"),
        (json.dumps({**GOOD, "question": 3}), "Expected `str`, got `int`"),
        (json.dumps({**GOOD, "question": "  "}), "the question is empty"),
        (json.dumps({**GOOD, "answer": "no marker here"}), "does not end with a line"),
        (json.dumps({**GOOD, "answer": "#### ."}), "does not end with a line"),
        ("", "the line is empty"),
    ],
)
def test_a_malformed_line_is_named_and_nothing_is_loaded(tmp_path: Path, line: str, complaint: str) -> None:
    folder = write(tmp_path, f"{json.dumps(GOOD)}\n{line}\n{json.dumps(GOOD)}\n")
    with pytest.raises(PrerequisiteError) as caught:
        Dataset(GSM8K, folder)
    message = str(caught.value)
    assert f"{folder / 'gsm8k' / 'train.jsonl'}, line 2: " in message
    assert complaint in message
    assert message.endswith(f"mage-es fetch gsm8k --data-dir {folder}")
    assert "Nothing was loaded" in message


def test_bytes_that_are_not_utf_8_are_a_malformed_line(tmp_path: Path) -> None:
    folder = write(tmp_path, lines(GOOD))
    (folder / "gsm8k" / "train.jsonl").write_bytes(b'{"question": "\xff", "answer": "#### 1"}\n')
    with pytest.raises(PrerequisiteError, match="line 1"):
        Dataset(GSM8K, folder)


def test_many_malformed_lines_are_counted_after_the_first_five(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"line 6: (.|\n)* 3 more such faults"):
        Dataset(GSM8K, write(tmp_path, lines(GOOD) + "x\n" * 8))


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="is empty"):
        Dataset(GSM8K, write(tmp_path, ""))


def test_a_cut_gzip_file_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, lines(GOOD))
    (tmp_path / "gsm8k" / "train.jsonl").unlink()
    (tmp_path / "gsm8k" / "train.jsonl.gz").write_bytes(gzip.compress(lines(*[GOOD] * 50).encode())[:-12])
    with pytest.raises(PrerequisiteError, match=r"train\.jsonl\.gz cannot be read"):
        Dataset(GSM8K, tmp_path)


def test_a_missing_data_set_ends_with_the_command_that_fetches_it(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        Dataset(GSM8K, tmp_path)
    assert str(caught.value).endswith(f"mage-es fetch gsm8k --data-dir {tmp_path}")
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("answer", "task_type"),
    [
        ("a <<1+1=2>>2\n#### 2", "gsm8k_1step"),
        ("<<1+1=2>> <<2+2=4>> <<4+4=8>>\n#### 8", "gsm8k_3step"),
        ("<<" + "1=1>><<" * 11 + "\n#### 8", "gsm8k_8step"),
        ("one\n\ntwo\n#### 8", "gsm8k_2step"),
        ("#### 8", "gsm8k_1step"),
        ("<<1<2>> x\n#### 8", "gsm8k_1step"),
    ],
)
def test_types_count_calculator_annotations_or_else_lines(answer: str, task_type: str) -> None:
    assert task_type_of(answer) == task_type


@needs_data
def test_the_upstream_distribution_of_annotations_is_reproduced() -> None:
    questions = Dataset(GSM8K, DATA).questions("evolution")
    types = Counter(q.task_type for q in questions)
    assert len(questions) == 7473 and len(types) == 8
    # 95 have no annotations, so their lines are counted; more than eight count as eight.
    assert [types[f"gsm8k_{n}step"] for n in range(1, 9)] == [404, 2198, 2156, 1446, 801, 293, 130, 45]
    assert not any("<<" in q.solution for q in questions)


@needs_data
def test_every_upstream_solution_is_strictly_right_for_its_own_question() -> None:
    benchmark = Dataset(GSM8K, DATA)
    for question in (*benchmark.questions("evolution"), *benchmark.questions("test")):
        assert benchmark.score(question, question.solution).strict, question.id


@needs_data
def test_golds_with_commas_and_signs_are_counted_as_upstream_has_them() -> None:
    questions = Dataset(GSM8K, DATA).questions("evolution")
    assert sum("," in q.solution.rpartition("####")[2] for q in questions) == 79
    assert sum(q.gold.startswith("-") for q in questions) == 3
    assert not any("." in q.gold for q in questions)
