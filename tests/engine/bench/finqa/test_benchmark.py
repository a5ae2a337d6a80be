"""FinQA's records in all their forms, their types and context, and the metrics of predictions."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.bench.dataset import Dataset
from mage_es.engine.bench.finqa.benchmark import FINQA, measure, total, verdict
from mage_es.engine.bench.finqa.records import task_type_of
from mage_es.engine.benchmarks.measuring import Prediction
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.testing import check_benchmark
from mage_es.events.errors import PrerequisiteError

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[5] / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not list((DATA / "finqa").glob("train.json*")), reason=f"no FinQA in {DATA}; set MAGE_ES_DATA"
)

REDUCED: dict[str, Any] = {
    "id": "ETR/2016/page_23.pdf-2",
    "pre_text": ["entergy 's revenue follows .", "amounts in millions ."],
    "post_text": ["that is all ."],
    "table": [["", "2015", "2014"], ["net | revenue", "5829", "5735"]],
    "qa": {"question": "what was the change in net revenue?", "program": "subtract(5829, 5735)", "exe_ans": 94.0},
}


def write(folder: Path, *records: object) -> Path:
    (folder / "finqa").mkdir()
    (folder / "finqa" / "train.json").write_text(json.dumps([{**REDUCED, "id": "other"}]))
    (folder / "finqa" / "test.json").write_text(json.dumps(records))
    return folder


def one(folder: Path, record: object) -> Question:
    return Dataset(FINQA, write(folder, record)).questions("test")[0]


def test_a_reduced_record_becomes_a_question_with_its_page_as_context(tmp_path: Path) -> None:
    question = one(tmp_path, REDUCED)
    assert (question.id, question.gold, question.task_type) == ("ETR/2016/page_23.pdf-2", "94.0", "finqa_difference")
    assert question.question == "what was the change in net revenue?"
    assert question.context == (
        "entergy 's revenue follows .\namounts in millions .\n\n"
        "|  | 2015 | 2014 |\n| --- | --- | --- |\n| net / revenue | 5829 | 5735 |\n\nthat is all ."
    )
    assert question.solution == "Program: subtract(5829, 5735)\nStep 1: 5829 minus 5735\nAnswer: 94.0"
    assert "94" not in question.context


def test_the_display_answer_is_not_what_counts(tmp_path: Path) -> None:
    record = {**REDUCED, "qa": {**REDUCED["qa"], "answer": "", "steps": [], "explanation": None}, "filename": "x"}
    assert one(tmp_path, record).gold == "94.0"


def test_yes_and_no_and_whole_numbers_are_golds(tmp_path: Path) -> None:
    qa = {**REDUCED["qa"], "program": "greater(2, 1)", "exe_ans": "yes"}
    records = [{**REDUCED, "id": "a", "qa": qa}, {**REDUCED, "id": "b", "qa": {**qa, "exe_ans": 94}}]
    assert [q.gold for q in Dataset(FINQA, write(tmp_path, *records)).questions("test")] == ["yes", "94.0"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"id": 7}, "Expected `str`, got `int` - at `$.id`"),
        ({"table": "x"}, "at `$.table`"),
        ({"table": [["a", 1]]}, "Expected `str`, got `int`"),
        ({"qa": {"program": "add(1, 2)", "exe_ans": 1}}, "missing required field `question` - at `$.qa`"),
        ({"qa": {"question": " ", "program": "", "exe_ans": 1}}, "qa.question: the question is empty"),
        ({"qa": {"question": "q", "program": ""}}, "missing required field `exe_ans` - at `$.qa`"),
        ({"qa": {"question": "q", "program": "", "exe_ans": "soon"}}, "at `$.qa.exe_ans`"),
    ],
)
def test_a_malformed_record_is_named_with_its_field(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        Dataset(FINQA, write(tmp_path, REDUCED, {**REDUCED, "id": "b", **change}))
    assert "test.json, record 2 (line 1): " in str(caught.value)
    assert complaint in str(caught.value)


@pytest.mark.paper("section 4, FinQA, task types")
@pytest.mark.parametrize(
    ("program", "task_type"),
    [
        ("table_max(a, none), greater(#0, 1)", "finqa_table_agg"),
        ("subtract(2, 1), greater(#0, 1)", "finqa_compare"),
        ("subtract(5, 4), divide(#0, 4)", "finqa_pct_change"),
        ("subtract(5, 4), divide(#0, 5)", "finqa_pct_change"),
        ("subtract(5, 4), divide(#0, 6)", "finqa_multi2"),
        ("subtract(5, 4), divide(4, #0)", "finqa_multi2"),
        ("subtract(5, 4), divide(7, 4)", "finqa_multi2"),
        ("add(1, 2), divide(#0, const_2)", "finqa_average"),
        ("add(1, 2), add(#0, 3), divide(#1, const_3)", "finqa_average"),
        ("add(1, 2), divide(#0, const_100)", "finqa_multi2"),
        ("divide(1, const_2)", "finqa_ratio"),
        ("subtract(1, 2)", "finqa_difference"),
        ("add(1, 2)", "finqa_sum"),
        ("add(1, 2), add(#0, 3)", "finqa_sum"),
        ("multiply(1, 2)", "finqa_product"),
        ("exp(1, 2)", "finqa_multi1"),
        ("multiply(1, 2), divide(#0, 3), add(#1, 1)", "finqa_multi3"),
        ("multiply(1, 2)" + ", multiply(#0, 2)" * 6, "finqa_multi5"),
        ("", "finqa_multi1"),
    ],
)
def test_the_type_is_the_first_rule_that_fits_the_gold_program(program: str, task_type: str) -> None:
    assert task_type_of(program) == task_type


def test_a_reply_is_judged_by_its_number_and_strictly_by_its_percent_sign(tmp_path: Path) -> None:
    question = one(tmp_path, {**REDUCED, "qa": {**REDUCED["qa"], "exe_ans": 0.34719}})
    found = [verdict(question, f"...\nAnswer: {text}") for text in ("34.7%", "34.7", "40%", "unknown")]
    assert [(v.correct, v.strict) for v in found] == [(True, True), (True, False), (False, False), (False, False)]


def test_a_program_has_both_of_upstreams_accuracies_and_its_result_or_the_text_is_matched(tmp_path: Path) -> None:
    question = one(tmp_path, REDUCED)

    def metrics(value: object, **parts: object) -> list[float | None]:
        return list(measure(question, Prediction("x", value, parts), strict=False).metrics.values())

    assert metrics(["subtract(", "5829", "5735", ")", "EOF"]) == [1.0, 1.0, 1.0]
    assert metrics("subtract(5829, 5735)") == [1.0, 1.0, 1.0]
    assert metrics(["add(", "90", "4", ")", "EOF"]) == [1.0, 0.0, 1.0]
    assert metrics(["add(", "90", "4.5", ")", "EOF"]) == [0.0, 0.0, 1.0]
    assert metrics(["subtract(", "5829", "5735", ")"]) == [0.0, 0.0, 0.0]
    assert metrics("It is 94.0") == [None, None, 1.0]
    assert metrics(94) == [None, None, 1.0]
    assert metrics("It is 95.2", program="subtract(5829, 5735)") == [1.0, 1.0, 0.0]
    assert metrics("", program=7) == [0.0, 0.0, 0.0]


def test_where_some_predict_programs_the_others_have_none_that_is_right(tmp_path: Path) -> None:
    question = one(tmp_path, REDUCED)
    values = ("subtract(5829, 5735)", "94", "", "nothing")
    measured = [(question, measure(question, Prediction("x", value), strict=False)) for value in values]
    assert total(measured) == {"execution_accuracy": 0.25, "program_accuracy": 0.25, "numeric_match": 0.5}
    assert total(measured[1:]) == {"numeric_match": 1 / 3}


@given(st.one_of(st.text(), st.lists(st.one_of(st.text(), st.integers())), st.none()), st.text(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_no_prediction_makes_a_metric_raise(value: object, program: str, strict: bool) -> None:
    question = Question(
        id="q", benchmark="finqa", split="test", task_type="t", question="q", gold="94.0",
        meta={"program": "subtract(5829, 5735)", "table": "[]"},
    )  # fmt: skip
    measured = measure(question, Prediction("q", value, {"program": program}), strict)
    assert all(metric is None or 0 <= metric <= 1 for metric in measured.metrics.values())


@needs_data
def test_the_real_records_pass_the_checks_of_every_benchmark() -> None:
    benchmark = Dataset(FINQA, DATA)
    check_benchmark(lambda seed: benchmark, 1, replies=50, repeats=4)


@needs_data
def test_the_types_of_the_first_500_test_records_are_mixed_as_counted() -> None:
    questions = Dataset(FINQA, DATA).questions("test")[:500]
    types = Counter(question.task_type for question in questions)
    assert len(types) == 12
    assert (types["finqa_ratio"], types["finqa_pct_change"], types["finqa_difference"]) == (158, 106, 58)
    assert all(len(question.context) > 500 for question in questions[:20])


@needs_data
def test_every_gold_program_is_the_same_as_itself_strictly_and_not() -> None:
    questions = Dataset(FINQA, DATA).questions("test")
    for strict in (False, True):
        for question in questions:
            given = Prediction(question.id, question.gold, {"program": question.meta["program"]})
            assert set(measure(question, given, strict).metrics.values()) == {1.0}, question.id
