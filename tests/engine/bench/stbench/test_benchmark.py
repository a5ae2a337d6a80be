"""Reading STBench: answers of every form, files that are missing, splits by position."""

import json
import os
from pathlib import Path

import pytest

from mage_es.engine.bench.dataset import Dataset, missing_files
from mage_es.engine.bench.stbench.benchmark import EXTENDED, MERGED, STBENCH, gold_of, read
from mage_es.engine.seams.benchmark import Question, is_test
from mage_es.engine.testing.benchmarks import check_benchmark
from mage_es.events.errors import PrerequisiteError

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[5] / "shared" / "data"))
needs_data = pytest.mark.skipif(not (DATA / "stbench").is_dir(), reason=f"no STBench in {DATA}; set MAGE_ES_DATA")

BASIC = "stbench/datasets/basic"
DIRECTION = f"{BASIC}/accurate_calculation/direction_determination.jsonl"
FLOW = "stbench/datasets/sft/flow_prediction_valid.jsonl"


def put(folder: Path, name: str, *records: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def all_of(opened: Dataset) -> list[Question]:
    return [*opened.questions("evolution"), *opened.questions("test")]


@pytest.mark.parametrize(
    ("kind", "answer", "gold"),
    [
        ("option", 1, "1"),
        ("option", "0", "0"),
        ("option", "4): [3, 1]", "4"),
        ("option", "3) times.", "3"),
        ("option", "(1): [3, 5].", "1"),
        ("option", "2) Northeast.", "2"),
        ("yesno", "Yes", "Yes"),
        ("yesno", "No'.", "No"),
        ("anomaly", "anomalous.", "anomalous"),
        ("anomaly", "normal", "normal"),
        ("vehicle", 2, "2"),
        ("vehicle", "(3) pedestrian.", "3"),
        ("vehicle", "car", "1"),
        ("point", [108.1, 34.2], "[108.1,34.2]"),
        ("point", "[108.1, 34.2].", "[108.1,34.2]"),
        ("flow", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "[1.0,2.0,3.0,4.0,5.0,6.0]"),
    ],
)
def test_every_form_of_an_answer_comes_to_one_gold(kind: str, answer: str, gold: str) -> None:
    assert gold_of(kind, answer) == gold


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ({"Question": "Q?"}, "missing required field `Answer`"),
        ({"Question": "Q?", "Answer": {"a": 1}}, r"at `\$\.Answer`"),
        ({"Question": " ", "Answer": 1}, "Question: it is empty"),
        ({"Question": "Q?", "Answer": "North"}, "Answer: 'North' is not an answer of the kind option"),
        ({"Question": "Q?", "Answer": [1.0]}, r"Answer: \[1.0\] is not an answer of the kind option"),
    ],
)
def test_a_malformed_record_is_named_by_file_line_and_field(tmp_path: Path, line: object, complaint: str) -> None:
    path = put(tmp_path, DIRECTION, {"Question": "Q?", "Answer": 1}, line)
    with pytest.raises(PrerequisiteError, match=rf"direction_determination\.jsonl, line 2: .*{complaint}"):
        read(path, "evolution")


def test_numbers_that_are_too_few_are_malformed(tmp_path: Path) -> None:
    path = put(tmp_path, "trajectory_prediction.jsonl", {"Question": "Q?", "Answer": [108.0]})
    with pytest.raises(PrerequisiteError, match="line 1: Answer: expected 2 numbers"):
        read(path, "evolution")


def test_a_file_of_no_task_is_an_error_that_names_the_tasks(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"belongs to no task of STBench: .* navigation"):
        read(put(tmp_path, "train.jsonl", {"Question": "Q?", "Answer": 1}), "test")


@pytest.mark.paper("section 4, STBench, the split")
def test_ids_are_file_and_position_and_three_tenths_of_them_are_the_test_split(tmp_path: Path) -> None:
    put(tmp_path, DIRECTION, *({"Question": f"Q{n}?", "Answer": 1 + n % 8, "more": n} for n in range(200)))
    opened = Dataset(STBENCH, tmp_path)
    found = {question.id: question for question in all_of(opened)}
    assert set(found) == {f"stbench-direction_determination-{n}" for n in range(200)}
    assert {question.id for question in opened.questions("test")} == {name for name in found if is_test(name)}
    assert 40 < len(opened.questions("test")) < 80
    longer = tmp_path / "longer"
    put(longer, DIRECTION, *({"Question": f"Q{n}?", "Answer": 1} for n in range(400)))
    again = {question.id: question.split for question in all_of(Dataset(STBENCH, longer))}
    assert all(again[name] == question.split for name, question in found.items())


def test_the_stub_that_a_question_breaks_off_with_is_known_and_stays_in_its_text(tmp_path: Path) -> None:
    text = "Where is B from A? (1) North\nAnswer: Option ("
    (question,) = read(put(tmp_path, DIRECTION, {"Question": text, "Answer": 1}), "test").items
    assert (question.question, question.stub) == (text, "\nAnswer: Option (")


def test_a_question_that_a_file_asks_twice_is_learned_once_and_measured_twice(tmp_path: Path) -> None:
    path = put(tmp_path, DIRECTION, *[{"Question": "Q?", "Answer": 1}] * 2)
    assert len(read(path, "evolution").items) == 1
    assert len(read(path, "test").items) == 2


def test_files_may_be_missing_and_are_named_unless_none_is_there(tmp_path: Path) -> None:
    put(tmp_path, DIRECTION, *({"Question": f"Q{n}?", "Answer": 1} for n in range(20)))
    opened = Dataset(STBENCH, tmp_path)
    assert len(opened.missing) == 33
    assert "datasets/basic/downstream_applications/trajectory_classification.jsonl" in opened.missing
    assert missing_files(opened).startswith("not there: datasets/basic/knowledge_comprehension/poi_category")
    (tmp_path / "empty").mkdir()
    with pytest.raises(PrerequisiteError, match=r"all 34 files are missing, .* mage-es fetch stbench"):
        Dataset(STBENCH, tmp_path / "empty")


def test_fine_tuning_data_stands_in_for_files_that_are_not_there(tmp_path: Path) -> None:
    flow = [1.0] * 6
    records = [
        {"Question": f"{n}? Answer: The predicted {kind} for the 6 time steps are: [", "Answer": flow}
        for n in range(20)
        for kind in ("inflows", "outflows")
    ]
    put(tmp_path, FLOW, *records)
    opened = Dataset(STBENCH, tmp_path)
    assert len(all_of(opened)) == 40
    assert {q.task_type for q in all_of(opened) if "predicted outflows" in q.question} == {"outflow_prediction"}
    assert {q.meta["file"] for q in all_of(opened)} == {
        "flow_prediction_valid", "flow_prediction_valid/outflow_prediction"
    }  # fmt: skip

    put(tmp_path, f"{BASIC}/downstream_applications/outflow_prediction.jsonl", *records[1::2])
    put(tmp_path, f"{BASIC}/downstream_applications/inflow_prediction.jsonl", *records[::2])
    assert {q.meta["file"] for q in all_of(Dataset(STBENCH, tmp_path))} == {"inflow_prediction", "outflow_prediction"}


@pytest.mark.paper("section 4, STBench, task types")
def test_types_with_a_constant_answer_can_be_merged_and_the_extension_added(tmp_path: Path) -> None:
    for name, answer in (("downsampling", "Yes"), ("temporal_offset", "No")):
        file = f"{BASIC}/spatiotemporal_reasoning/trajectory_identification_{name}.jsonl"
        put(tmp_path, file, *({"Question": f"{name}{n}?", "Answer": answer} for n in range(20)))
    put(tmp_path, f"{BASIC}/semantic_reasoning/road_level_judgment.jsonl", {"Question": "Q?", "Answer": 3})
    types = {
        definition.name: {question.task_type for question in all_of(Dataset(definition, tmp_path))}
        for definition in (STBENCH, MERGED, EXTENDED)
    }
    apart = {"trajectory_identification_downsampling", "trajectory_identification_temporal_offset"}
    assert types == {
        "stbench": apart,
        "stbench-merged": {"trajectory_identification"},
        "stbench-extended": apart | {"road_level_judgment"},
    }


@pytest.mark.slow
@needs_data
def test_every_real_answer_is_right_as_upstream_reads_it_and_as_we_do() -> None:
    opened = Dataset(EXTENDED, DATA)
    questions = all_of(opened)
    assert len(questions) == 34_622 - 14  # fourteen are asked twice
    assert len({question.task_type for question in questions}) == 25
    for question in questions[::7]:
        found = opened.score(question, question.solution)
        assert found.correct, question.id
        assert found.strict or question.meta["kind"] in ("anomaly", "vehicle", "point"), question.id


@pytest.mark.slow
@needs_data
def test_it_is_a_benchmark_as_every_other() -> None:
    some = STBENCH._replace(parts={"evolution": STBENCH.parts["evolution"][14:20]})  # every kind of template
    check_benchmark(lambda seed: Dataset(some, DATA), 3, replies=100)
