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
from mage_es.events import vocabulary as v


def shared(one: msgspec.Struct, form: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the fields that a struct shares with another type, such as those of an event that a report shows."""
    return {name: getattr(one, name) for name in form.__struct_fields__ if name in one.__struct_fields__}


class OpenRun(NamedTuple):
    """Begin a run; `inherited` are the events of the parent that it continues, and `parent` records that."""

    started: v.RunStarted
    commitments: Sequence[v.SplitCommitted | v.QuestionsStored]
    budget: Sequence[v.BudgetSet] = ()
    parent: Sequence[v.RunInherited] = ()
    inherited: Sequence[v.Draft] = ()
    registered: Sequence[v.RunRegistered] = ()


class InduceOntology(NamedTuple):
    """Create the skills and task types that the guidance tier named (None: its reply could not be read).

    `induced` are the task types for a benchmark without its own.
    """

    task_types: Sequence[str]
    reply: OntologyReply | None
    induced: Sequence[v.TaskTypeCreated] = ()


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
    purpose: v.Purpose
    recipe_vector: Vector | None = None
    opening: Opening | None = None

    @property
    def is_episode(self) -> bool:
        return self.opening is not None


class PlanAnswers(NamedTuple):
    """Choose arms and bundles for questions, all on the current state. `frozen` bandits learn nothing and draw nothing.
    The controls of an exam (rules/controls.py): `donors` gives a question the memories that another one would have
    retrieved; `answers` maps a memory's id to that of the memory whose answer it shows, "" to leave it out; with
    `is_bare` nothing learned is shown. `client` is the key that asks, or "": it sees what it gave itself."""

    iteration: int
    phase: v.Phase
    asked: Sequence[Asked]
    frozen: bool
    donors: Mapping[str, Asked] = {}
    answers: Mapping[str, str] = {}
    is_bare: bool = False
    client: str = ""


class Call(NamedTuple):
    """Identifies a call: which agent asks which model about what, and where in the run. `causation` is the event that
    led to it. `sources` are the questions whose texts the prompt is about, `pieces` what it consists of."""

    iteration: int
    phase: v.Phase
    tier: v.Tier
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
    def of(
        cls, move: Ask, iteration: int, phase: v.Phase, model: str, *, purpose: str = "", causation: int = 0
    ) -> Call:
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
    planned: v.QuestionPlanned
    memory_id: str


class RecordBatch(NamedTuple):
    """Record that a provider accepted calls as a batch, with the custom ids by which it knows them."""

    batch_id: str
    model: str
    calls: Mapping[str, Call]


class RecordEmbedding(NamedTuple):
    iteration: int
    phase: v.Phase
    model: str
    attempt: EmbeddingAttempt


class RecordFacts(NamedTuple):
    """Record facts that the shell knows completely, or that a wing's own pure rules decided (engine/serving/rules):
    nothing is left to decide, but they are searched for leaks."""

    drafts: Sequence[v.Draft]

    @classmethod
    def about(
        cls, planned: v.QuestionPlanned, phase: v.Phase, event: v.Event, *, causation: int, ordinal: int = 0
    ) -> RecordFacts:
        about = v.Draft(
            event=event,
            iteration=planned.iteration,
            phase=phase,
            ordinal=ordinal,
            causation=causation,
            correlation=planned.question_id,
        )
        return cls([about])


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
    phase: v.Phase


class LearnFromAnswers(NamedTuple):
    """UPDATE: ratchet, both bandits and the harvest, over this iteration's verdicts.

    `vectors` holds the questions' vectors by id, `observed` those of the observations before milestones by text,
    `doubtful` maps a question's id to another type that is about as near to it as its own.
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
"""What the guidance tier may reply to one of EVOLVE's actions."""


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
    """SNAPSHOT: the guard's verdict and what follows; `anchors`, with their vectors by id, become cases."""

    iteration: int
    anchors: Mapping[str, Question] = {}
    vectors: Mapping[str, Vector] = {}


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
    digests: Sequence[v.Digest]


class FinishRun(NamedTuple): ...


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
    | RecordFacts
    | CompletePhase
    | LearnFromEpisodes
    | LearnFromAnswers
    | Evolve
    | TakeSnapshot
    | Curate
    | CloseIteration
    | FinishRun
)
