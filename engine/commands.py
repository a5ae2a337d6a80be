"""Commands: what the shell asks `decide` for, with the results of every effect as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from mage_es.engine.briefs import (
    AuthoredTool,
    FailureReply,
    NavigatorReply,
    OntologyReply,
    PrinciplesReply,
    RefinementReply,
    RetrievalReply,
    SplittingReply,
)
from mage_es.engine.courses import Ask
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.embedder import Vector
from mage_es.engine.seams.environment import Opening
from mage_es.engine.seams.faults import FailedAttempt
from mage_es.engine.seams.metering import EmbeddingAttempt
from mage_es.engine.seams.model import Completion
from mage_es.engine.seams.pieces import Pieces, in_pieces
from mage_es.events.vocabulary import (
    BanditUpdated,
    BudgetSet,
    Digest,
    Draft,
    Event,
    FeedbackGiven,
    InferenceOpened,
    MemoryProposed,
    Phase,
    ProposalReviewed,
    Purpose,
    QuestionPlanned,
    QuestionsStored,
    RunInherited,
    RunRegistered,
    RunStarted,
    SplitCommitted,
    TaskTypeCreated,
    Tier,
    Trust,
)


class OpenRun(NamedTuple):
    """Begin a run; `inherited` are the events of the parent that it continues, and `parent` records that."""

    started: RunStarted
    commitments: Sequence[SplitCommitted | QuestionsStored]
    budget: Sequence[BudgetSet] = ()
    parent: Sequence[RunInherited] = ()
    inherited: Sequence[Draft] = ()
    registered: Sequence[RunRegistered] = ()


class InduceOntology(NamedTuple):
    """Create the skills and task types that the guidance tier named (None: its reply could not be read).

    `induced` are the task types for a benchmark without its own.
    """

    task_types: Sequence[str]
    reply: OntologyReply | None
    induced: Sequence[TaskTypeCreated] = ()


class Candidate(NamedTuple):
    task_type: str
    failures: int
    attempts: int
    last_selected: int


class PlanIteration(NamedTuple):
    """Choose the frontier and the questions of an iteration; `refined` is the guidance tier's order, if it gave one."""

    iteration: int
    refined: NavigatorReply | None = None


class Asked(NamedTuple):
    """A question about to be asked, with its task type, its unit vector and the reason for asking it.

    `recipe_vector` is the vector of the text that the task type's retrieval recipe, if there is one, makes of the
    question. `opening` is how an episode begins; both vectors then cover the question and what is observed there.
    """

    question: Question
    task_type: str
    vector: Vector
    purpose: Purpose
    recipe_vector: Vector | None = None
    opening: Opening | None = None


class PlanAnswers(NamedTuple):
    """Choose arms and bundles for questions, all on the current state. `frozen` bandits learn nothing and draw nothing.
    The controls of an exam (rules/controls.py): `donors` gives a question the memories that another one would have
    retrieved; `answers` maps a memory's id to that of the memory whose answer it shows, "" to leave it out; with
    `is_bare` nothing learned is shown. `client` is the key that asks, "" for none: it sees what it gave itself."""

    iteration: int
    phase: Phase
    asked: Sequence[Asked]
    frozen: bool
    donors: Mapping[str, Asked]
    answers: Mapping[str, str] = {}
    is_bare: bool = False
    client: str = ""


class Call(NamedTuple):
    """Identifies a call: which agent asks which model about what, and where in the run. `causation` is the event that
    led to it. `sources` are the questions whose texts the prompt is about, `pieces` what it consists of."""

    iteration: int
    phase: Phase
    tier: Tier
    agent: str
    purpose: str
    about: str
    attempt: int
    request_sha256: str
    model: str
    causation: int = 0
    sources: tuple[str, ...] = ()
    pieces: Pieces = Pieces()

    @classmethod
    def of(cls, move: Ask, iteration: int, phase: Phase, model: str, *, purpose: str = "", causation: int = 0) -> Call:
        """Return the call that a move makes to a model; `purpose` applies to a move that names none."""
        why, request = move.purpose or purpose, move.request.sha256
        pieces = in_pieces(move.request, move.spans)
        where = (iteration, phase, move.tier, move.agent, why, move.about, move.attempt, request, model, causation)
        return cls(*where, pieces=pieces)


class RecordCall(NamedTuple):
    call: Call
    completion: Completion
    latency_us: int
    problem: str = ""


class RecordFailure(NamedTuple):
    call: Call
    failed: FailedAttempt


class RecordTrimming(NamedTuple):
    """Record that a prompt did not fit, and what the next one for the same question leaves out."""

    call: Call
    failed: FailedAttempt
    planned: QuestionPlanned
    memory_id: str


class RecordBatch(NamedTuple):
    """Record that a provider accepted calls as a batch, with the custom ids by which it knows them."""

    batch_id: str
    model: str
    calls: Mapping[str, Call]


class RecordEmbedding(NamedTuple):
    iteration: int
    phase: Phase
    model: str
    attempt: EmbeddingAttempt


class RecordFact(NamedTuple):
    """Record a fact whose every field the shell knows: there is nothing to decide, but it is searched for leaks."""

    draft: Draft

    @classmethod
    def about(
        cls, planned: QuestionPlanned, phase: Phase, event: Event, *, causation: int, ordinal: int = 0
    ) -> RecordFact:
        return cls(
            Draft(
                event=event,
                iteration=planned.iteration,
                phase=phase,
                ordinal=ordinal,
                causation=causation,
                correlation=planned.question_id,
            )
        )


class Explored(NamedTuple):
    """An explored question, and what its episode discovered: (entity, kind), (source, label, target)."""

    question: Question
    entities: Sequence[tuple[str, str]]
    relations: Sequence[tuple[str, str, str]]


class LearnFromEpisodes(NamedTuple):
    iteration: int
    explored: Sequence[Explored]


class CompletePhase(NamedTuple):
    iteration: int
    phase: Phase


class LearnFromAnswers(NamedTuple):
    """UPDATE: ratchet, both bandits and the harvest, over this iteration's verdicts.

    `vectors` holds the questions' vectors by id, `observed` those of the observations before milestones by text,
    `doubtful`, by question id, another type that a question is about as near to as to its own.
    """

    iteration: int
    questions: Mapping[str, Question]
    vectors: Mapping[str, Vector]
    observed: Mapping[str, Vector] = {}
    doubtful: Mapping[str, str] = {}


class CheckedTool(NamedTuple):
    """A tool, and what went wrong with it on its own examples in the sandbox ("" if it passes all of them)."""

    tool: AuthoredTool
    problem: str


class CheckedTools(NamedTuple):
    tools: Sequence[CheckedTool]
    doubtful: Sequence[str] = ()


EvolveReply = FailureReply | PrinciplesReply | CheckedTools | RetrievalReply | RefinementReply | SplittingReply
"""What one of EVOLVE's actions may get from the guidance tier."""


class Authored(NamedTuple):
    """The outcome of one action for one target.

    `reply` is None if the model was not asked, or no attempt could be read; `idle` says why it was not asked, "" if it
    was. `call` is the fact id of the last reply, in hexadecimal digits, "" without one. `cases` are the questions that
    a principle was to be made from.
    """

    task_type: str
    action: str
    reply: EvolveReply | None
    call: str = ""
    idle: str = ""
    cases: tuple[str, ...] = ()


class Evolve(NamedTuple):
    """EVOLVE: write what was authored. `vectors` maps the source text of an embedding to its unit vector."""

    iteration: int
    targets: Sequence[Candidate]
    authored: Sequence[Authored]
    questions: Mapping[str, Question]
    vectors: Mapping[str, Vector]


class TakeSnapshot(NamedTuple):
    iteration: int


Curation = Literal["quarantine", "release", "approve", "reject"]


class Curate(NamedTuple):
    """Take something learned out of use, or bring it back, or decide on a waiting proposal. `ordinal` counts the
    decisions on it so far."""

    memory_id: str
    action: Curation
    reason: str
    by: str
    ordinal: int


class CloseIteration(NamedTuple):
    iteration: int
    digests: Sequence[Digest]


class FinishRun(NamedTuple): ...


class Feedback(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client says about an inference or a session, in the fields that it sends. `value` is a bool, a number in
    [0, 1], a text, or a demonstration: an object with `answer` and perhaps `reasoning`, `wrong_answer` and `question`;
    a text is one if `kind` says so."""

    metric: str
    value: Any
    idempotency_key: str
    inference_id: str = ""
    session_id: str = ""
    kind: Literal["", "demonstration"] = ""


class GiveFeedback(NamedTuple):
    """Record feedback. `session`, which belongs to the key, is that of the inference in question, if any. `question` is
    the text of its user turn, "" if unknown; `vector` is the question's, `task_type` its type, and `extracted` the
    answer in a demonstration that is a reply. `earlier` is what is on record under the same key and idempotency key."""

    said: Feedback
    key: str
    trust: Trust
    session: str
    question: str = ""
    vector: Vector | None = None
    task_type: str = ""
    extracted: str = ""
    earlier: FeedbackGiven | None = None


class Publish(NamedTuple):
    """UPDATE of a publish, for one key: its proposals become memories, its feedback rewards. `words` is all of the
    key's feedback so far, in the log's order; `inferences` are its own that can be rewarded, `proposals` those without
    a final decision, including another key's of the same memory; `rewarded` is what these inferences were rewarded with
    so far. With `reviews`, by memory, those that a person approved are taken into use, and nothing else."""

    iteration: int
    key: str
    words: Sequence[FeedbackGiven]
    inferences: Sequence[InferenceOpened]
    proposals: Sequence[MemoryProposed]
    rewarded: Sequence[BanditUpdated]
    reviews: Mapping[str, ProposalReviewed] = {}


class SettlePublish(NamedTuple):
    """Follow the guard's verdict on a publish; `rewarded` is what its UPDATE gave. `anchors` are the anchors' vectors
    by id, and `floors`, by task type, the least cosine at which an anchor is near enough to judge a memory, measured
    before this publish (rules/trials.py)."""

    iteration: int
    rewarded: Sequence[BanditUpdated]
    anchors: Mapping[str, Vector] = {}
    floors: Mapping[str, float] = {}


Command = (
    OpenRun
    | InduceOntology
    | PlanIteration
    | PlanAnswers
    | RecordCall
    | RecordFailure
    | RecordBatch
    | RecordEmbedding
    | RecordTrimming
    | RecordFact
    | CompletePhase
    | LearnFromEpisodes
    | LearnFromAnswers
    | Evolve
    | TakeSnapshot
    | Curate
    | CloseIteration
    | FinishRun
    | GiveFeedback
    | Publish
    | SettlePublish
)
