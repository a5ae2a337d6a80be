"""Commands: what the shell asks `decide` for, with the results of every effect as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from mage_es.engine.agents.briefs import (
    AuthoredTool,
    FailureReply,
    NavigatorReply,
    OntologyReply,
    PrinciplesReply,
    RefinementReply,
    RetrievalReply,
    SplittingReply,
)
from mage_es.engine.benchmarks.protocol import Question, Verdict
from mage_es.engine.courses import Look
from mage_es.engine.embedders.metering import Attempt
from mage_es.engine.models.faults import FailedAttempt
from mage_es.engine.models.seam import Completion
from mage_es.engine.rules.curriculum import Candidate
from mage_es.engine.rules.retrieval import Vector
from mage_es.engine.rules.step_prompt import Opening
from mage_es.engine.search.protocol import Page
from mage_es.events.vocabulary import (
    Digest,
    EpisodeClosed,
    EpisodeStepped,
    Phase,
    Purpose,
    QuestionPlanned,
    RunStarted,
    SplitCommitted,
    Tier,
)


class OpenRun(NamedTuple):
    """Record the configuration and commit to the three splits."""

    started: RunStarted
    splits: Sequence[SplitCommitted]


class InduceOntology(NamedTuple):
    """Create the skills and task types that the guidance tier named (None: its reply could not be read)."""

    task_types: Sequence[str]
    reply: OntologyReply | None


class PlanIteration(NamedTuple):
    """Choose the frontier and the questions of an iteration; `refined` is the guidance tier's order, if it gave one."""

    iteration: int
    refined: NavigatorReply | None = None


class Asked(NamedTuple):
    """A question about to be asked, with its task type, its unit vector and the reason for asking it.

    `recipe_vector` is that of the text which the task type's retrieval recipe makes of the question, where it has one.
    `opening` is how an episode begins; both vectors are then of the question with what is observed there.
    """

    question: Question
    task_type: str
    vector: Vector
    purpose: Purpose
    recipe_vector: Vector | None = None
    opening: Opening | None = None


class PlanAnswers(NamedTuple):
    """Choose arms and bundles for questions, all on the state as it is now.

    `frozen` bandits learn nothing and draw nothing. `donors` gives a question the memories that another one
    would have retrieved (the shuffled control of an exam).
    """

    iteration: int
    phase: Phase
    asked: Sequence[Asked]
    frozen: bool
    donors: Mapping[str, Asked]


class Call(NamedTuple):
    """Which call it is: who asks which model about what, and where in the run. `causation` is what led to it."""

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


class RecordCall(NamedTuple):
    """Record a model's reply; `problem` says why it is not of the form that was asked for, "" if it is."""

    call: Call
    completion: Completion
    latency_us: int
    problem: str = ""


class RecordFailure(NamedTuple):
    """Record an attempt at a call that brought no reply."""

    call: Call
    failed: FailedAttempt


class RecordTrimming(NamedTuple):
    """Record that a prompt did not fit, and what is left out of the next one for the same question."""

    call: Call
    failed: FailedAttempt
    planned: QuestionPlanned
    memory_id: str


class RecordBatch(NamedTuple):
    """Record that a provider took calls as a batch, by the custom ids that name them to it."""

    batch_id: str
    model: str
    calls: Mapping[str, Call]


class RecordEmbedding(NamedTuple):
    """Record an attempt at a call of the embedder: its reply, or its failure."""

    iteration: int
    phase: Phase
    model: str
    attempt: Attempt


class RecordUnanswered(NamedTuple):
    """Record that a planned question stays without an answer, and why."""

    phase: Phase
    planned: QuestionPlanned
    problem: str
    causation: int


class RecordToolRun(NamedTuple):
    """Record what a tool came to for a planned question."""

    phase: Phase
    planned: QuestionPlanned
    tool_id: str
    arguments: str
    result: str
    problem: str
    causation: int


class RecordSearch(NamedTuple):
    """Record what was found for a planned question; of a page that is not there only `similar` titles."""

    phase: Phase
    planned: QuestionPlanned
    look: Look
    search: str
    pages: Sequence[Page]
    similar: Sequence[str]
    causation: int


class RecordAct(NamedTuple):
    """Record a step of an episode, or its end."""

    phase: Phase
    fact: EpisodeStepped | EpisodeClosed
    causation: int


class RecordVerdict(NamedTuple):
    """Record what the Critic found in the reply to a planned question."""

    phase: Phase
    planned: QuestionPlanned
    expected: str
    verdict: Verdict
    causation: int


class Explored(NamedTuple):
    """An explored question, and what its episode brought to light: (entity, kind), (source, label, target)."""

    question: Question
    entities: Sequence[tuple[str, str]]
    relations: Sequence[tuple[str, str, str]]


class LearnFromEpisodes(NamedTuple):
    """EXPLORE: what this iteration's explored episodes add to the environment and experience subgraphs."""

    iteration: int
    explored: Sequence[Explored]


class CompletePhase(NamedTuple):
    """Mark a phase as complete."""

    iteration: int
    phase: Phase


class LearnFromAnswers(NamedTuple):
    """UPDATE: ratchet, both bandits and the harvest, over this iteration's verdicts.

    `vectors` are those of the questions by id, `observed` those of the observations before milestones by their text.
    """

    iteration: int
    questions: Mapping[str, Question]
    vectors: Mapping[str, Vector]
    observed: Mapping[str, Vector] = {}


class CheckedTool(NamedTuple):
    """A tool, and what the sandbox found wrong with it on its own examples ("": it gets all of them right)."""

    tool: AuthoredTool
    problem: str


class CheckedTools(NamedTuple):
    """A reply of tools after the sandbox has tried them."""

    tools: Sequence[CheckedTool]


EvolveReply = FailureReply | PrinciplesReply | CheckedTools | RetrievalReply | RefinementReply | SplittingReply
"""What one of EVOLVE's actions may have got from the guidance tier."""


class Authored(NamedTuple):
    """What came of one action for one target.

    `reply` is None where nobody was asked or no attempt could be read; `idle` says why nobody was asked, "" where
    somebody was. `call` is the fact id of the last reply, in hexadecimal digits, "" where none came.
    """

    task_type: str
    action: str
    reply: EvolveReply | None
    call: str = ""
    idle: str = ""


class Evolve(NamedTuple):
    """EVOLVE: write what was authored. `vectors` maps the source text of an embedding to its unit vector."""

    iteration: int
    targets: Sequence[Candidate]
    authored: Sequence[Authored]
    questions: Mapping[str, Question]
    vectors: Mapping[str, Vector]


class TakeSnapshot(NamedTuple):
    """SNAPSHOT: let the guard decide over this iteration's anchor answers."""

    iteration: int


class Curate(NamedTuple):
    """Take something that was learned out of use, or bring it back; `ordinal` counts what was said of it so far."""

    memory_id: str
    action: Literal["quarantine", "release"]
    reason: str
    by: str
    ordinal: int


class CloseIteration(NamedTuple):
    """Close an iteration with the digests of the state as it stands."""

    iteration: int
    digests: Sequence[Digest]


class FinishRun(NamedTuple):
    """Record that the run reached the end of its configuration."""


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
    | RecordToolRun
    | RecordSearch
    | RecordAct
    | RecordVerdict
    | RecordUnanswered
    | CompletePhase
    | LearnFromEpisodes
    | LearnFromAnswers
    | Evolve
    | TakeSnapshot
    | Curate
    | CloseIteration
    | FinishRun
)
