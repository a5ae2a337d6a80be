"""UPDATE and EVOLVE: what is learned from answers, and what the guidance tier writes."""

from __future__ import annotations

from typing import ClassVar, Literal

from mage_es.events.vocabulary.form import Event, Outcome, Part, Phase, Vector


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

    stream: ClassVar[str] = "memory/{0.memory_id}"


class MemoryReinforced(Event, frozen=True, kw_only=True, tag="memory.reinforced"):
    """The same memory was met again; no second node is made. `count` is the total after."""

    memory_id: str
    question_id: str
    count: int

    stream: ClassVar[str] = "memory/{0.memory_id}"


class MemorySuperseded(Event, frozen=True, kw_only=True, tag="memory.superseded"):
    """A newer memory takes an older one's place in retrieval; the older one stays stored."""

    memory_id: str
    by: str

    stream: ClassVar[str] = "memory/{0.memory_id}"


class MasteryUpdated(Event, frozen=True, kw_only=True, tag="mastery.updated"):
    """One step of the asymmetric ratchet (Eq. 2); `evidence` is successes / (successes + failures) of this step."""

    iteration: int
    skill: str
    before: float
    after: float
    evidence: float
    successes: int
    failures: int

    stream: ClassVar[str] = "skill/{0.skill}"


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

    stream: ClassVar[str] = "bandit/{0.bandit}/{0.key}/{0.arm}"


class Target(Part, frozen=True, kw_only=True):
    """A selected task type with what its score was made of: (failures / attempts) + recency_weight * gap."""

    task_type: str
    failures: int
    attempts: int
    last_selected: int


class TargetsSelected(Event, frozen=True, kw_only=True, tag="targets.selected"):
    """The round-robin's choice (Eq. 1), and every task type observed so far with its first iteration."""

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

    stream: ClassVar[str] = "task_type/{0.task_type}"
