"""The table of task types."""

from collections import Counter

import pytest

from mage_es.engine.bench.stbench.tasks import TASK_TYPES, named, type_of_file, type_of_question

CORE = [task_type for task_type in TASK_TYPES if not task_type.is_extension]


@pytest.mark.paper("section 4, STBench, task types")
def test_there_are_27_types_of_15_tasks_in_34_files_and_3_of_the_extension() -> None:
    assert (len(CORE), len({one.task for one in CORE}), sum(len(one.files) for one in CORE)) == (27, 15, 34)
    assert (len(TASK_TYPES), len({one.task for one in TASK_TYPES})) == (30, 18)
    assert sum(len(one.files) for one in TASK_TYPES) == 37


def test_each_kind_of_answer_has_its_types() -> None:
    kinds = Counter(task_type.kind for task_type in CORE)
    assert kinds == {"option": 16, "yesno": 5, "anomaly": 2, "vehicle": 1, "point": 1, "flow": 2}


def test_the_six_types_with_a_constant_answer_can_be_merged_into_two() -> None:
    merged = {one.merged for one in TASK_TYPES if one.merged}
    assert merged == {"trajectory_identification", "trajectory_anomaly_detection"}
    assert len({one.merged or one.name for one in CORE}) == 23


@pytest.mark.parametrize(
    ("file", "task_type"),
    [
        ("navigation_with_weights_8.jsonl.gz", "navigation"),
        ("navigation_without_weights_10.jsonl", "navigation"),
        ("trajectory_region_length10.jsonl", "trajectory_region_length10"),
        ("trajectory_trajectory_valid.jsonl", "trajectory_trajectory"),
        ("direction_determination.part2.jsonl", "direction_determination"),
        ("point_identification.jsonl", "poi_identification"),
    ],
)
def test_a_file_is_of_the_type_whose_name_it_holds(file: str, task_type: str) -> None:
    found = type_of_file(file)
    assert found is not None and found.name == task_type


def test_another_file_is_of_no_type() -> None:
    assert type_of_file("train.jsonl") is None


def test_in_a_file_of_both_flows_the_stub_tells_which_is_asked_for() -> None:
    both = type_of_file("flow_prediction_valid.jsonl")
    assert both is not None
    text = "Taxi inflows: [1]\nTaxi outflows: [2]\nAnswer: The predicted {} for the 6 time steps are: ["
    assert type_of_question(both, text.format("inflows")).name == "inflow_prediction"
    assert type_of_question(both, text.format("outflows")).name == "outflow_prediction"
    assert type_of_question(named("navigation"), "outflows") == named("navigation")
