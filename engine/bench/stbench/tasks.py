"""The task types of STBench as a table: which files each has, what kind of answer, and which official task it belongs
to.

Twenty-seven types: one for each file of the fifteen tasks of 2024, the eight navigation files as one, and optionally
three of the extension of 2025. The paper gives the same number but does not list them. In six types every question has
the same answer, so a memory tagged with its type gives the answer away. These six can be merged into one type,
`merged`.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

AnswerKind = Literal["option", "yesno", "anomaly", "vehicle", "point", "flow"]
KINDS: Mapping[str, AnswerKind] = {kind: kind for kind in get_args(AnswerKind)}

_KNOWLEDGE, _REASONING = "knowledge_comprehension", "spatiotemporal_reasoning"
_COMPUTATION, _APPLICATION = "accurate_calculation", "downstream_applications"
_IDENTIFICATION, _ANOMALY = "trajectory_identification", "trajectory_anomaly_detection"
_SEMANTIC = "semantic_reasoning"


class STBenchType(NamedTuple):
    """A task type: its official task, kind of answer, files (without `.jsonl`) and what it is merged into, if anything.

    `stand_in` is a file of the fine-tuning data, read if the type's own file is missing.
    """

    name: str
    task: str
    kind: AnswerKind
    files: tuple[str, ...]
    merged: str = ""
    stand_in: str = ""

    @property
    def is_extension(self) -> bool:
        return f"/{_SEMANTIC}/" in self.files[0]


def _own(
    folder: str, name: str, kind: AnswerKind, *, task: str = "", merged: str = "", stand_in: str = ""
) -> STBenchType:
    return STBenchType(name, task or name, kind, (f"basic/{folder}/{name}",), merged, stand_in)


TASK_TYPES: tuple[STBenchType, ...] = (
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
    STBenchType(
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
"""In the order of the benchmark's table: knowledge, reasoning, computation, application, then the extension.

[section 4, STBench, task types] Each file is a type, except that the eight navigation files are one.
"""

_ALIASES = {
    "point_identification": "poi_identification",
    "trajectory_region": "trajectory_region_length2",
    "trajectory_identification": "trajectory_identification_downsampling",
    "trajectory_anomaly_detection": "trajectory_anomaly_detection_normal",
    "point_region": "point_region_2regions",
    "flow_prediction": "inflow_prediction",
}
"""Names of example and fine-tuning files that mix types; the answers in such a file are all read in the same way."""

_STEMS = {
    **{file.rpartition("/")[2]: task_type.name for task_type in TASK_TYPES for file in task_type.files},
    **_ALIASES,
}
_BY_NAME = {task_type.name: task_type for task_type in TASK_TYPES}


def named(name: str) -> STBenchType:
    return _BY_NAME[name]


def type_of_file(file_name: str) -> STBenchType | None:
    """Return the type with the longest file name that this file's name contains: copies and `..._valid.jsonl` too."""
    known = max((stem for stem in _STEMS if stem in file_name), key=len, default=None)
    return named(_STEMS[known]) if known else None


def type_of_question(found: STBenchType, question: str) -> STBenchType:
    """In a file that mixes both flows, the question shows which one it is."""
    if found.kind != "flow":
        return found
    is_outflow = "predicted outflow" in question[question.rfind("Answer:") :].lower()
    return named("outflow_prediction" if is_outflow else "inflow_prediction")
