"""The task types of STBench as a table: which files each has, what kind of answer, and which official task it is.

Rules
    - Twenty-seven types: one for each file of the fifteen tasks of 2024, the eight navigation files as one. The paper
      counts as many and does not list them, so another partition is another table.
    - Three types of the extension of 2025 are optional.
    - Six types have one and the same answer throughout, so that a memory tagged with its type gives the answer away;
      `merged` is the type that they have where constant types are merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

Kind = Literal["option", "yesno", "anomaly", "vehicle", "point", "flow"]
KINDS: Mapping[str, Kind] = {kind: kind for kind in get_args(Kind)}

_KNOWLEDGE, _REASONING = "knowledge_comprehension", "spatiotemporal_reasoning"
_COMPUTATION, _APPLICATION = "accurate_calculation", "downstream_applications"
_IDENTIFICATION, _ANOMALY = "trajectory_identification", "trajectory_anomaly_detection"
_SEMANTIC = "semantic_reasoning"


class TaskType(NamedTuple):
    """A task type: its official task, kind of answer, files (without `.jsonl`) and what it is merged into, if at all.

    `stand_in` is a file of the fine-tuning data, read where the type's own file is not there.
    """

    name: str
    task: str
    kind: Kind
    files: tuple[str, ...]
    merged: str = ""
    stand_in: str = ""

    @property
    def is_extension(self) -> bool:
        """Return whether the type is of the extension of 2025."""
        return f"/{_SEMANTIC}/" in self.files[0]


def _own(folder: str, name: str, kind: Kind, *, task: str = "", merged: str = "", stand_in: str = "") -> TaskType:
    """Return a type that is one file."""
    return TaskType(name, task or name, kind, (f"basic/{folder}/{name}",), merged, stand_in)


TASK_TYPES: tuple[TaskType, ...] = (
    _own(_KNOWLEDGE, "poi_category_recognition", "option"),
    _own(_KNOWLEDGE, "poi_identification", "yesno"),
    _own(_KNOWLEDGE, "urban_region_function_recognition", "option"),
    _own(_KNOWLEDGE, "administrative_region_determination", "option"),
    _own(_REASONING, "point_trajectory", "option"),
    *(_own(_REASONING, f"point_region_{count}regions", "option", task="point_region") for count in (2, 3, 4, 5)),
    *(
        _own(_REASONING, f"trajectory_region_length{length}", "option", task="trajectory_region")
        for length in (2, 4, 6, 8, 10)
    ),
    *(
        _own(_REASONING, f"{_IDENTIFICATION}_{how}", "yesno", task=_IDENTIFICATION, merged=_IDENTIFICATION)
        for how in ("downsampling", "staggered_sampling", "spatial_offset", "temporal_offset")
    ),
    _own(_COMPUTATION, "trajectory_trajectory", "option", stand_in="sft/trajectory_trajectory_valid"),
    _own(_COMPUTATION, "direction_determination", "option"),
    TaskType(
        "navigation",
        "navigation",
        "option",
        tuple(
            f"basic/{_COMPUTATION}/navigation_{kind}_{nodes}"
            for kind, sizes in (("with_weights", (5, 6, 7, 8)), ("without_weights", (8, 9, 10, 11)))
            for nodes in sizes
        ),
    ),
    *(
        _own(_APPLICATION, f"{_ANOMALY}_{label}", "anomaly", task=_ANOMALY, merged=_ANOMALY)
        for label in ("abnormal", "normal")
    ),
    _own(_APPLICATION, "trajectory_classification", "vehicle"),
    _own(_APPLICATION, "trajectory_prediction", "point"),
    _own(_APPLICATION, "inflow_prediction", "flow", task="flow_prediction", stand_in="sft/flow_prediction_valid"),
    _own(_APPLICATION, "outflow_prediction", "flow", task="flow_prediction", stand_in="sft/flow_prediction_valid"),
    _own(_SEMANTIC, "road_level_judgment", "option"),
    _own(_SEMANTIC, "rush_hour_detection", "yesno"),
    _own(_SEMANTIC, "taxi_occupancy_detection", "yesno"),
)
"""In the order of the benchmark's table: knowledge, reasoning, computation, application, then the extension."""

_ALIASES = {
    "point_identification": "poi_identification",
    "trajectory_region": "trajectory_region_length2",
    "trajectory_identification": "trajectory_identification_downsampling",
    "trajectory_anomaly_detection": "trajectory_anomaly_detection_normal",
    "point_region": "point_region_2regions",
    "flow_prediction": "inflow_prediction",
}
"""Names of the example and fine-tuning files that mix types: how their answers are read is the same for all of them."""

_STEMS = {
    **{file.rpartition("/")[2]: task_type.name for task_type in TASK_TYPES for file in task_type.files},
    **_ALIASES,
}
_BY_NAME = {task_type.name: task_type for task_type in TASK_TYPES}


def named(name: str) -> TaskType:
    """Return a task type by its name."""
    return _BY_NAME[name]


def type_of_file(file_name: str) -> TaskType | None:
    """Return the type of which a file holds questions: that whose file's name is the longest in this one's; or None.

    So copies (`direction_determination.part2.jsonl`) and the fine-tuning files (`..._valid.jsonl`) are known, too.
    """
    known = max((stem for stem in _STEMS if stem in file_name), key=len, default=None)
    return named(_STEMS[known]) if known else None


def type_of_question(found: TaskType, question: str) -> TaskType:
    """Return the type of a question in a file of a type: in a file of both flows it is told by what is asked for."""
    if found.kind != "flow":
        return found
    is_outflow = "predicted outflow" in question[question.rfind("Answer:") :].lower()
    return named("outflow_prediction" if is_outflow else "inflow_prediction")
