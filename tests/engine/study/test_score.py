"""Predictions made elsewhere: every question counts once, and what is about no question is refused."""

import json
from functools import partial
from pathlib import Path

import pytest

from mage_es.engine.bench.finqa.benchmark import FINQA
from mage_es.engine.bench.gsm8k import GSM8K
from mage_es.engine.bench.hotpotqa.benchmark import HOTPOTQA
from mage_es.engine.bench.webqa.benchmark import WEBQA
from mage_es.engine.benchmarks.records import read_records
from mage_es.engine.study.score import _prediction, score
from mage_es.events.errors import PrerequisiteError, UsageError

DEFINITIONS = {each.name: each for each in (FINQA, GSM8K, HOTPOTQA, WEBQA)}
RECORDS = [{"question": f"{k} + 1?", "answer": f"<<{k}+1={k + 1}>>\n#### {k + 1}"} for k in range(3)]


def write(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return write(tmp_path / "test.jsonl", list(RECORDS))


def measured(records: Path, rows: list[object], *, strict: bool = False):
    predictions = write(records.parent / "mine.jsonl", rows)
    return score("gsm8k", records=records, predictions=predictions, strict=strict, seed=1, data_dir=None)


def test_every_question_of_the_records_counts_and_a_missing_prediction_is_wrong(records: Path) -> None:
    report = measured(records, [{"id": "gsm8k-test-2", "prediction": "#### 3"}])
    assert [(one.id, one.missing, one.metrics["accuracy"]) for one in report.predictions] == [
        ("gsm8k-test-0", True, 0.0),
        ("gsm8k-test-1", True, 0.0),
        ("gsm8k-test-2", False, 1.0),
    ]
    assert (report.questions, report.missing) == (3, 2)
    assert report.totals["accuracy"] == pytest.approx(1 / 3)


def test_strict_is_upstream_to_the_letter(records: Path) -> None:
    rows: list[object] = [{"id": "gsm8k-test-0", "prediction": "#### 1.0"}]
    assert measured(records, rows).predictions[0].metrics["accuracy"] == 1.0
    assert measured(records, rows, strict=True).predictions[0].metrics["accuracy"] == 0.0


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([{"id": "x", "prediction": ""}], r"no question 'x'\n(.|\n)*called gsm8k-test-0(.|\n)*--records FILE"),
        ([{"id": f"x{n}", "prediction": ""} for n in range(9)], "and 4 more such predictions"),
        ([{"id": "gsm8k-test-0", "prediction": "1"}] * 2, "two predictions for 'gsm8k-test-0'"),
    ],
)
def test_a_prediction_about_no_question_or_a_second_one_is_refused(
    records: Path, rows: list[object], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        measured(records, rows)


@pytest.mark.parametrize(
    ("benchmark", "line", "problem"),
    [
        ("gsm8k", '{"id": "gsm8k-test-0", "prediction": true}', "prediction: expected a text, found true"),
        ("gsm8k", '{"id": "gsm8k-test-0", "prediction": 1}', "prediction: expected a text, found 1"),
        ("gsm8k", '{"id": "gsm8k-test-0", "prediction": ["1"]}', r'prediction: expected a text, found \["1"\]'),
        ("gsm8k", '{"id": "gsm8k-test-0", "prediction": {"a": null}}', r'expected a text, found \{"a": null\}'),
        ("gsm8k", '{"id": null, "prediction": "1"}', "id: expected a text or a whole number, found null"),
        ("gsm8k", '{"id": true, "prediction": "1"}', "id: expected a text or a whole number, found true"),
        ("gsm8k", '{"id": "gsm8k-test-0", "prediction": "half \\ud800 a character"}', "surrogate"),
        ("gsm8k", f'{{"id": "x", "prediction": {"[" * 9000}{"]" * 9000}}}', "nested too deep"),
        ("finqa", '{"id": "x", "prediction": ["add(", 1]}', "expected a text or a list of texts"),
        (
            "finqa",
            '{"id": "x", "prediction": "1", "program": 5}',
            "program: expected a text or a list of texts, found 5",
        ),
        ("webqa", '{"id": "x", "prediction": {}}', "expected a text, a number or a list"),
        ("hotpotqa", '{"id": "x", "prediction": "1", "sp": "a"}', "sp: expected a list, found a"),
        ("crafter", '{"id": "x", "prediction": ["Do", 1]}', "a list of texts or a list of whole numbers"),
    ],
)
def test_a_prediction_of_a_wrong_type_is_refused_with_its_line(
    tmp_path: Path, benchmark: str, line: str, problem: str
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(f'{{"id": "y", "prediction": null}}\n{line}\n')
    form = DEFINITIONS[benchmark].predictions if benchmark in DEFINITIONS else "actions"
    with pytest.raises(PrerequisiteError, match=rf"mine\.jsonl, line 2: .*{problem}"):
        read_records(path, dict, partial(_prediction, form))


def test_a_prediction_without_its_parts_is_named_by_line(records: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"mine\.jsonl, line 2: prediction: is missing"):
        measured(records, [{"id": "gsm8k-test-0", "prediction": "1"}, {"id": "gsm8k-test-1"}])


def test_a_generated_benchmark_is_measured_by_its_scorer(tmp_path: Path) -> None:
    predictions = write(tmp_path / "mine.jsonl", [{"id": "wordmath-test-0", "prediction": "I cannot tell"}])
    report = score("wordmath", records=None, predictions=predictions, strict=False, seed=42, data_dir=None)
    assert report.totals == {"accuracy": 0.0, "score": 0.0}


def test_a_benchmark_that_is_not_read_from_files_takes_no_records(records: Path) -> None:
    with pytest.raises(UsageError, match="omit --records"):
        score("wordmath", records=records, predictions=records, strict=False, seed=1, data_dir=None)
