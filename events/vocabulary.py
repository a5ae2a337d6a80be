"""The vocabulary: one frozen struct for each fact that a run can record, grouped by phase.

Rules
    - An event states what happened and carries its *results* (mastery before and after, posterior after,
      the text that a model returned), so that a fold only assigns and a later change of a formula never
      rewrites history.
    - There is no event that deletes or edits a principle, a failure memory or a success memory. That the
      protected memory only grows (Theorem 1) is therefore a property of this file.
    - Rewards and posteriors are integers in millionths (`_micro`): sums of integers do not depend on order.
    - Field types are limited to what a typed Parquet column can hold: str, int, float, bool, bytes, and
      tuples of these or of `Part` structs.
    - A new field needs a default; renaming, retyping or removing one needs a new schema version (upcasting.py).
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

MICRO = 1_000_000
"""One, in the integer millionths of rewards and posteriors."""

Phase = Literal["open", "plan", "explore", "evaluate", "update", "evolve", "snapshot", "close", "exam", "log"]
Outcome = Literal["principle", "failure_memory", "success_memory", "retrieval_recipe", "abstracted_pattern"]
Purpose = Literal["fresh", "revisit", "anchor", "exam", "ask"]
Tier = Literal["execution", "guidance", "judge"]

Vector = Annotated[bytes, msgspec.Meta(extra={"column": "vector"})]
"""A little-endian float32 vector; stored in the side file of a segment because it does not compress."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A value inside an event; never recorded on its own."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A fact. Subclasses name their stable tag as `class X(Event, frozen=True, kw_only=True, tag="noun.verbed")`.

    `version` is the schema version of the payload (`sv` in the record); `subject` says what the fact is about
    and is part of the event's identity, so two facts of one type about one subject in one phase need ordinals.
    """

    version: ClassVar[int] = 1

    @property
    def subject(self) -> str:
        """What the fact is about, such as `question/q17`; the stream that the record belongs to."""
        return "run"


# ---------------------------------------------------------------- opening (iteration -1)


class RunStarted(Event, frozen=True, kw_only=True, tag="run.started"):
    """The run's configuration and everything that fixes its behaviour; the first event of every run.

    `config` is canonical JSON. `strategy_floor` is the least cosine at which a type strategy is retrieved,
    fixed here for the whole run (mage.md section 4, retrieval).
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
    check any memory against the split without the data set.
    """

    split: str
    size: int
    ids_sha256: str
    questions_sha256: str
    question_hashes: tuple[str, ...]

    @property
    def subject(self) -> str:
        return f"split/{self.split}"


class SkillCreated(Event, frozen=True, kw_only=True, tag="skill.created"):
    """A capability node with the initial values of its mutable slots (which no rollback ever masks)."""

    skill: str
    mastery: float
    prompt_template: str
    strategy: str
    parent: str = ""

    @property
    def subject(self) -> str:
        return f"skill/{self.skill}"


class TaskTypeCreated(Event, frozen=True, kw_only=True, tag="task_type.created"):
    """A task node: the filter key of every retrieval."""

    task_type: str
    description: str

    @property
    def subject(self) -> str:
        return f"task_type/{self.task_type}"


class EdgeAdded(Event, frozen=True, kw_only=True, tag="edge.added"):
    """A typed edge between two nodes, by the nodes' own names (`skill/x`, `task_type/y`, ...)."""

    kind: str
    source: str
    target: str
    weight: float = 1.0

    @property
    def subject(self) -> str:
        return f"edge/{self.kind}/{self.source}/{self.target}"


class EdgeRefused(Event, frozen=True, kw_only=True, tag="edge.refused"):
    """An edge that was proposed and not added, with the reason (it would close a cycle, a node is unknown)."""

    kind: str
    source: str
    target: str
    reason: str

    @property
    def subject(self) -> str:
        return f"edge/{self.kind}/{self.source}/{self.target}"


# ---------------------------------------------------------------- plan


class IterationPlanned(Event, frozen=True, kw_only=True, tag="iteration.planned"):
    """The Navigator's plan: the learnable frontier and the questions that this iteration will ask.

    `repeats` are the fresh questions that an earlier epoch of the pool has asked already.
    """

    iteration: int
    frontier: tuple[str, ...]
    brief: str
    epoch: int
    fresh: tuple[str, ...]
    revisits: tuple[str, ...]
    repeats: tuple[str, ...]


# ---------------------------------------------------------------- evaluate, snapshot, exam


class Retrieved(Part, frozen=True, kw_only=True):
    """A memory placed in a bundle, with the cosine that brought it there."""

    memory_id: str
    similarity: float


class Span(Part, frozen=True, kw_only=True):
    """Where a retrieved text stands in the prompt: characters [offset, offset + length), and what it is from."""

    offset: int
    length: int
    source: str


class QuestionPlanned(Event, frozen=True, kw_only=True, tag="question.planned"):
    """Everything that was decided about a question before the model saw it.

    The probabilities are those with which the chosen arms were drawn (1.0 when frozen). The prompt itself is
    not stored: it is rendered again from `template` and `memories`, and held against `prompt_sha256`.
    """

    iteration: int
    purpose: Purpose
    question_id: str
    task_type: str
    skill: str
    search_arm: str
    search_probability: float
    routing_arm: str
    routing_probability: float
    memories: tuple[Retrieved, ...]
    principles: tuple[str, ...]
    template: str
    prompt_sha256: str
    spans: tuple[Span, ...]

    @property
    def subject(self) -> str:
        return f"question/{self.question_id}"


class ModelCalled(Event, frozen=True, kw_only=True, tag="model.called"):
    """A model's reply. (tier, purpose, about, attempt, request_sha256) is the idempotency key within a phase.

    `latency_us` is information only and enters no digest.
    """

    iteration: int
    tier: Tier
    agent: str
    purpose: str
    about: str
    attempt: int
    request_sha256: str
    model: str
    text: str
    stop_reason: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    thinking_tokens: int = 0
    latency_us: int = 0
    provider_id: str = ""

    @property
    def subject(self) -> str:
        return f"call/{self.tier}/{self.purpose}/{self.about}/{self.attempt}"


class AnswerJudged(Event, frozen=True, kw_only=True, tag="answer.judged"):
    """The Critic's verdict: the extracted answer, what was expected, and the score in millionths."""

    iteration: int
    purpose: Purpose
    question_id: str
    task_type: str
    skill: str
    answer: str
    expected: str
    score_micro: int
    correct: bool
    strict: bool
    judge: str

    @property
    def subject(self) -> str:
        return f"question/{self.question_id}"


# ---------------------------------------------------------------- update


class Step(Part, frozen=True, kw_only=True):
    """One sub-answer of a multi-step answer."""

    skill: str
    output: str


class MemoryAppended(Event, frozen=True, kw_only=True, tag="memory.appended"):
    """A new experience node, with its `about`, `exercises` and `derived_from` edges.

    `memory_id` is the hash of (outcome, kind, task type, normalised question, answer, reasoning).
    `kind` is `specific` or `type_strategy` for failure memories, else empty. `recognise` says how to recognise
    the questions that a type strategy is for. `embedding` is what retrieval compares; its source text is the
    question, or recognise-part and question for a type strategy. Birth is (iteration, phase, ordinal).
    """

    memory_id: str
    outcome: Outcome
    kind: str
    task_type: str
    skill: str
    question_id: str
    question: str
    recognise: str
    reasoning: str
    answer: str
    wrong_answer: str
    steps: tuple[Step, ...]
    derived_from: str
    iteration: int
    phase: Phase
    ordinal: int
    embedding: Vector

    @property
    def subject(self) -> str:
        return f"memory/{self.memory_id}"


class MemoryReinforced(Event, frozen=True, kw_only=True, tag="memory.reinforced"):
    """The same memory was met again; no second node is made. `count` is the total after."""

    memory_id: str
    question_id: str
    count: int

    @property
    def subject(self) -> str:
        return f"memory/{self.memory_id}"


class MemorySuperseded(Event, frozen=True, kw_only=True, tag="memory.superseded"):
    """A newer memory takes an older one's place in retrieval; the older one stays stored."""

    memory_id: str
    by: str

    @property
    def subject(self) -> str:
        return f"memory/{self.memory_id}"


class MasteryUpdated(Event, frozen=True, kw_only=True, tag="mastery.updated"):
    """One step of the asymmetric ratchet (Eq. 4) and the unbiased counts kept beside it."""

    iteration: int
    skill: str
    before: float
    after: float
    evidence: float
    successes: int
    failures: int

    @property
    def subject(self) -> str:
        return f"skill/{self.skill}"


class BanditUpdated(Event, frozen=True, kw_only=True, tag="bandit.updated"):
    """One reward for one arm. `bandit` is `search` (key: task type) or `routing` (key: skill)."""

    bandit: Literal["search", "routing"]
    key: str
    arm: str
    question_id: str
    reward_micro: int
    alpha_before: int
    beta_before: int
    alpha_after: int
    beta_after: int
    pulls_after: int

    @property
    def subject(self) -> str:
        return f"bandit/{self.bandit}/{self.key}/{self.arm}"


# ---------------------------------------------------------------- evolve


class Target(Part, frozen=True, kw_only=True):
    """A selected task type with what its score was made of: (failures / attempts) + recency_weight * gap."""

    task_type: str
    failures: int
    attempts: int
    last_selected: int


class TargetsSelected(Event, frozen=True, kw_only=True, tag="targets.selected"):
    """The round-robin's choice (Eq. 3), and every task type observed so far with its first iteration."""

    iteration: int
    targets: tuple[Target, ...]
    newly_observed: tuple[str, ...]


class ActionTaken(Event, frozen=True, kw_only=True, tag="action.taken"):
    """What the rotation's action did for a target; `outcome` is `authored`, `nothing to author` or a refusal."""

    iteration: int
    action: str
    task_type: str
    outcome: str
    authored: int

    @property
    def subject(self) -> str:
        return f"task_type/{self.task_type}"


# ---------------------------------------------------------------- snapshot


class GuardDecided(Event, frozen=True, kw_only=True, tag="guard.decided"):
    """The delta-guard's verdict on the anchor set, with the test behind it.

    `verdict` is `accepted`, `soft_rollback`, `hard_rollback`, or `off`; the drops are fractions of the anchor
    set, p values those of the one-sided exact sign test; `smallest_drop` is the least drop that could have
    been noticed with the questions that changed. `against` and `best` are iterations (-1 is the start).
    """

    iteration: int
    verdict: Literal["accepted", "soft_rollback", "hard_rollback", "off"]
    correct: int
    total: int
    against: int
    drop: float
    p_value: float
    best: int
    best_drop: float
    best_p_value: float
    smallest_drop: float


class SnapshotTaken(Event, frozen=True, kw_only=True, tag="snapshot.taken"):
    """The mutable slots as they stand now are what a rollback to this iteration restores."""

    iteration: int


class SlotsRolledBack(Event, frozen=True, kw_only=True, tag="slots.rolled_back"):
    """The mutable slots are again what they were at the snapshot of `to_iteration`; nothing else changes."""

    iteration: int
    to_iteration: int


# ---------------------------------------------------------------- marks


class Digest(Part, frozen=True, kw_only=True):
    """The digest of one projection."""

    projection: str
    value: str


class PhaseCompleted(Event, frozen=True, kw_only=True, tag="phase.completed"):
    """The marker `iter-K/PHASE`: all of the phase's events come before it."""

    iteration: int
    phase: Phase

    @property
    def subject(self) -> str:
        return f"phase/{self.phase}"


class IterationClosed(Event, frozen=True, kw_only=True, tag="iteration.closed"):
    """The marker `iter-K` (`start` for -1), with the digest of every projection just before this event.

    No projection reads it, so the digests also hold just after it.
    """

    iteration: int
    digests: tuple[Digest, ...]


class RunResumed(Event, frozen=True, kw_only=True, tag="run.resumed"):
    """Somebody continued this run; information only, read by no projection that has a digest."""

    package_version: str
    attempt: int


class RunFinished(Event, frozen=True, kw_only=True, tag="run.finished"):
    """The run reached the end of its configuration."""

    iterations: int


# ---------------------------------------------------------------- exam (a log of its own)


class ExamStarted(Event, frozen=True, kw_only=True, tag="exam.started"):
    """What is examined: a run, the marker, the head of its log and the digests of the state that was folded."""

    run_id: str
    marker: str
    head_seq: int
    head_chain: str
    control: str
    config: str
    digests: tuple[Digest, ...]


class ExamClosed(Event, frozen=True, kw_only=True, tag="exam.closed"):
    """The exam's result; `familiar` counts the questions whose phrasing family also occurs in evolution."""

    correct: int
    total: int
    familiar_correct: int
    familiar_total: int


# ---------------------------------------------------------------- the log's own


class SegmentSealed(Event, frozen=True, kw_only=True, tag="log.segment_sealed"):
    """A write-ahead file became a Parquet segment; hashes are of the files' bytes, `chain` of its last frame."""

    first: int
    last: int
    rows: int
    sha256: str
    vectors_sha256: str
    chain: str


def _concrete(cls: type[Event]) -> list[type[Event]]:
    found: list[type[Event]] = []
    for sub in cls.__subclasses__():
        found.append(sub)
        found.extend(_concrete(sub))
    return found


EVENT_TYPES: dict[str, type[Event]] = {str(cls.__struct_config__.tag): cls for cls in _concrete(Event)}
"""Every event type by its stable tag."""


def tag_of(event: Event | type[Event]) -> str:
    """Return the stable tag, such as `answer.judged`."""
    return str(event.__struct_config__.tag)
