"""The opening of a run (iteration -1): configuration, splits, ontology."""

from __future__ import annotations

from typing import ClassVar

from mage_es.events.vocabulary.form import Event


class RunStarted(Event, frozen=True, kw_only=True, tag="run.started"):
    """The run's configuration and everything that fixes its behaviour; the first event of every run.

    `config` is canonical JSON. `strategy_floor` is the least cosine at which a type strategy is retrieved,
    fixed here for the whole run.
    """

    run_id: str
    benchmark: str
    seed: int
    config: str
    config_sha256: str
    package_version: str
    execution_model: str
    guidance_model: str
    embedder: str
    embedder_dimension: int
    embedder_sha256: str
    strategy_floor: float
    task_type_source: str
    data_sha256: str
    licence: str


class SplitCommitted(Event, frozen=True, kw_only=True, tag="split.committed"):
    """One of the three disjoint splits: its size and hashes of its question ids and normalised questions.

    `question_hashes` has one 16-digit hash for each normalised question, in id order, so that an auditor can
    check any memory against the split without the data set. `shingles` has, for each question of a split that must
    not be learned, the sorted 8-byte hashes of its word shingles: near-duplicates can be told from the log alone.
    `common_shingles` are those that are the form of a type's questions and not compared (in the evolution split).
    """

    split: str
    size: int
    ids_sha256: str
    questions_sha256: str
    question_hashes: tuple[str, ...]
    shingles: tuple[bytes, ...] = ()
    common_shingles: bytes = b""

    stream: ClassVar[str] = "split/{0.split}"


class SkillCreated(Event, frozen=True, kw_only=True, tag="skill.created"):
    """A capability node with the initial values of its mutable slots (which no rollback ever masks)."""

    skill: str
    mastery: float
    prompt_template: str
    strategy: str
    parent: str = ""
    description: str = ""

    stream: ClassVar[str] = "skill/{0.skill}"


class TaskTypeCreated(Event, frozen=True, kw_only=True, tag="task_type.created"):
    """A task node: the filter key of every retrieval."""

    task_type: str
    description: str

    stream: ClassVar[str] = "task_type/{0.task_type}"


class EdgeAdded(Event, frozen=True, kw_only=True, tag="edge.added"):
    """A typed edge between two nodes, by the nodes' own names (`skill/x`, `task_type/y`, ...).

    `label` says which relation an edge of kind `relation` is, such as `needs`.
    """

    kind: str
    source: str
    target: str
    weight: float = 1.0
    label: str = ""

    stream: ClassVar[str] = "edge/{0.kind}/{0.source}/{0.target}"


class EdgeRefused(Event, frozen=True, kw_only=True, tag="edge.refused"):
    """An edge that was proposed and not added, with the reason (it would close a cycle, a node is unknown)."""

    kind: str
    source: str
    target: str
    reason: str

    stream: ClassVar[str] = "edge/{0.kind}/{0.source}/{0.target}"
