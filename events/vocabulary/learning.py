"""UPDATE and EVOLVE: what is learned from answers, and what the guidance tier writes."""

from typing import ClassVar, Literal

from mage_es.events.facts.event import EmbeddingBytes, Event, Part, Phase
from mage_es.events.vocabulary.parts import AboutMemory, LearnedSubjectText, Origin, Outcome


class Step(Part, frozen=True, kw_only=True):
    """One sub-answer of a multi-step answer."""

    skill: str
    output: LearnedSubjectText
    """The sub-answer."""


class MemoryAppended(Event, frozen=True, kw_only=True, tag="memory.appended"):
    """A new experience node. The paper's edges from it are fields: `question_id`, `skill` and `origin`."""

    stream: ClassVar[str] = "memory/{0.memory_id}"
    memory_id: str
    """Hash of (outcome, kind, task type, normalised question, answer, reasoning)."""
    outcome: Outcome
    """Index that the memory belongs to."""
    kind: str
    """`specific`, `type_strategy`, `case` (without guidance) for a failure, `guess` for a success by chance, or ""."""
    task_type: str
    skill: str
    question_id: str
    """Id of the question; for a principle made from a single case, the id of that case's question, else empty."""
    question: LearnedSubjectText
    """Its text."""
    recognise: LearnedSubjectText
    """How to recognise the questions that a type strategy is for; else empty."""
    reasoning: LearnedSubjectText
    answer: LearnedSubjectText
    """The right answer."""
    wrong_answer: LearnedSubjectText
    """The wrong answer that was given; else empty."""
    steps: tuple[Step, ...]
    """Sub-answers of a multi-step answer."""
    origin: Origin
    # Its birth: the order of memories must not depend on which answer arrived first.
    iteration: int
    phase: Phase
    ordinal: int
    # Recorded, so that a replay needs no embedder.
    embedding: EmbeddingBytes
    """The vector that retrieval compares: that of the question or, for a type strategy, that of `recognise` and the
    question together."""


class MemoryReinforced(AboutMemory, frozen=True, kw_only=True, tag="memory.reinforced"):
    """The same memory occurred again; no second node is made."""

    question_id: str
    count: int
    """How often the memory has occurred, including this time."""


class MemorySuperseded(AboutMemory, frozen=True, kw_only=True, tag="memory.superseded"):
    """A newer memory replaces an older one in retrieval; the older one stays stored."""

    # An event about the older memory, because stored facts are never edited.
    by: str
    """Id of the newer memory."""


class MasteryUpdated(Event, frozen=True, kw_only=True, tag="mastery.updated"):
    """One step of the asymmetric ratchet (Eq. 2)."""

    # Before *and* after: a later change of the formula must not rewrite history.
    stream: ClassVar[str] = "skill/{0.skill}"
    iteration: int
    skill: str
    before: float
    """Mastery before the step."""
    after: float
    """Mastery after the step."""
    evidence: float
    """successes / (successes + failures) of this step."""
    successes: int
    failures: int


class Recall(Part, frozen=True, kw_only=True):
    """Questions to learn from whose nearest cases agreed to this extent, and how often these cases and the model were
    right.

    The counts are of the whole run so far.
    """

    task_type: str
    agreement: int
    """How many of the nearest cases have the answer of the very nearest."""
    questions: int
    """Questions with this agreement that were answered both ways."""
    recalled: int
    """Of these, how many the nearest case's answer would have got right."""
    answered: int
    """Of these, how many the model got right."""


class RecallCompared(Event, frozen=True, kw_only=True, tag="recall.compared"):
    """What the nearest cases would have answered, compared with the model, on the questions of an iteration."""

    iteration: int
    records: tuple[Recall, ...]
    """By task type and agreement, sorted."""


class ProbationCounted(Event, frozen=True, kw_only=True, tag="probation.counted"):
    """What the coin has shown about the memories that a merge took from a run, over all iterations so far."""

    # Totals, not increments: a fold only assigns.
    stream: ClassVar[str] = "merged/{0.parent}"
    iteration: int
    parent: str
    """The run that they came from."""
    shown: int
    """Tosses that left such a memory in a prompt."""
    shown_right: int
    """Of these, how many questions were answered rightly."""
    left_out: int
    """Tosses that left one out."""
    left_out_right: int
    """Of these, how many questions were answered rightly."""
    is_over: bool
    """Whether their effect is not negative, so that the coin is no longer tossed for them."""


class BanditUpdated(Event, frozen=True, kw_only=True, tag="bandit.updated"):
    """One reward for one arm, and the arm's Beta posterior before and after it, in millionths."""

    stream: ClassVar[str] = "bandit/{0.bandit}/{0.key}/{0.arm}"
    bandit: Literal["search", "routing"]
    """The `search` bandit, or the `routing` bandit."""
    key: str
    """Task type for `search`, skill for `routing`."""
    arm: str
    """The arm that was drawn."""
    question_id: str
    reward_micro: int
    # The posterior itself, not only the reward: a fold assigns it and never repeats the arithmetic.
    alpha_before: int
    beta_before: int
    alpha_after: int
    beta_after: int
    pulls_after: int
    """Rewards of the arm so far, including this one."""


class Target(Part, frozen=True, kw_only=True):
    """A selected task type, and the parts of its score: (failures / attempts) + recency_weight * gap."""

    task_type: str
    failures: int
    attempts: int
    """Questions of the task type that were asked."""
    last_selected: int
    """Iteration in which the task type was last selected."""


class TargetsSelected(Event, frozen=True, kw_only=True, tag="targets.selected"):
    """The round-robin's choice (Eq. 1), and every task type observed so far with its first iteration."""

    iteration: int
    targets: tuple[Target, ...]
    """The selected task types."""
    newly_observed: tuple[str, ...]
    """Task types observed for the first time."""


class ActionTaken(Event, frozen=True, kw_only=True, tag="action.taken"):
    """What the rotation's action did for a target."""

    stream: ClassVar[str] = "task_type/{0.task_type}"
    iteration: int
    action: str
    task_type: str
    outcome: str
    """`authored`, `nothing to author` or a refusal."""
    authored: int
    """How many memories, recipes, tools, refinements or skills were written."""
    doubtful: tuple[str, ...] = ()
    """Questions of the brief whose right answer, the teacher says, contradicts the question."""
