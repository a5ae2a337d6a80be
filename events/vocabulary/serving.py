"""A served run: what was inserted before which question, how the request ended, and what people said about it.

An inference is one request of a client, or one search of an agent. Its texts are recorded only with `--record-texts`;
what was put into it is always recorded, as the ids of memories and the hash of the note made from them.
"""

from typing import ClassVar, Literal

from mage_es.events.facts.event import EmbeddingBytes, Event, Part
from mage_es.events.vocabulary.parts import AboutMemory, LearnedText, Origin

RequestShape = Literal["chat", "responses", "messages", "search"]
Treatment = Literal["memory", "holdback", "shadow", "off", "far", "none", "bare", "searched"]
Trust = Literal["gold", "full", "scores", "none"]
ServedLayout = Literal["turns", "lines", "sections"]
"""Cases as turns of the chat before the user's, or at the start of the user's text: plain lines, or under headings."""


class ServingStarted(Event, frozen=True, kw_only=True, tag="serving.started"):
    """A process began to serve the run."""

    stream: ClassVar[str] = "serving/{0.process}"
    process: int
    """Its number; the first is 1."""
    learn: Literal["off", "log", "propose"]
    """What feedback may do: nothing, be recorded, or move bandits and propose memories."""
    holdback_micro: int
    """Share of sessions that get no memory, in millionths."""
    salt: str
    """Secret of the coin that decides which sessions those are; 32 hexadecimal digits."""
    has_texts: bool
    """Whether questions and replies are recorded."""
    upstream: str
    """Address of the server that answers; empty if a Python client calls its own."""
    min_similarity: float = -1.0
    """Least cosine of a question's nearest memory; -1 if it is measured among the memories of each marker."""
    max_note_tokens: int = 0
    """Most tokens of a note; 0: any number."""
    task_types: tuple[str, ...] = ()
    """Task types that get notes; empty for all."""
    layout: ServedLayout = "turns"
    """How cases are shown in a request, and in the prompts of the run's anchors."""
    is_bare: bool = False
    """Whether cases that are turns show only their answers, as when the run asks for answers alone."""


class RecordingResumed(Event, frozen=True, kw_only=True, tag="serving.recording_resumed"):
    """The log accepts events again, after a disk refused some. Requests in between were sent without a new note."""

    stream: ClassVar[str] = "serving/{0.process}/{0.interruption}"
    process: int
    """Number of the process."""
    interruption: int
    """Number of the interruption within the process; the first is 1."""
    lost: int
    """How many requests, feedbacks and ends of requests are not on record."""


class InferenceOpened(Event, frozen=True, kw_only=True, tag="inference.opened"):
    """A request arrived, and this was inserted before its latest user turn. It is durable before the request is
    sent."""

    stream: ClassVar[str] = "inference/{0.inference}"
    inference: str
    """Its id: inf-<process>-<number within the process>."""
    session: str
    """Session that the client named, or the id of the first inference of the conversation."""
    key: str
    """Name of the key that it came with; empty for none."""
    shape: RequestShape
    """Kind of the request: chat completions, responses, messages, or a call of the tool `search_memory`."""
    model: str
    """Model that the client requested."""
    treatment: Treatment
    """`memory`: the note was put in, unless the end says `bypassed`. Not put in: `holdback` by the coin, `shadow` and
    `off` by the client's wish, `far`: even the nearest memory was too far, `bare`: the bare prompt did better on
    the anchors, `none`: there was no new user turn, or nothing to put in. `searched`: an agent
    asked for memories, near or not, and got them as the result of its call; no coin decided that."""
    marker: int
    """Closed iteration whose state the session sees; -1 is the start."""
    task_type: str
    """Task type; empty if nothing was looked up."""
    is_typed: bool
    """Whether the client named the task type."""
    arm: str
    """Search arm; empty if nothing was looked up."""
    probability: float
    """Probability with which the arm was drawn."""
    memories: tuple[str, ...]
    """Ids of the memories that were chosen, in order, even if they were not put in."""
    similarities: tuple[float, ...] = ()
    """How near each is to the question, 0 for a principle, which is not searched for; empty for a repeated request."""
    note_sha256: str
    """SHA-256 of their text, turns and note; empty for none."""
    turn_sha256: str
    """SHA-256 that names the conversation up to and including its latest user turn; empty for none."""
    turns: int
    """Earlier user turns of the conversation that got their own notes again."""
    layout: ServedLayout = "turns"
    """How cases are shown; a turn that other turns cannot precede has sections."""
    nearest: float = 0.0
    """Cosine of the nearest memory; -1 for none, 0 if nothing was looked up."""
    floor: float = 0.0
    """Least cosine that it had to have; 0 for any."""
    read_from: int = 0
    """Characters of the turn (of its two ends, if it is long) before the part that was nearest to a memory, such as
    the template of its client."""
    read_to: int = 0
    """Characters up to the end of that part; 0 if nothing was looked up."""
    question: str = ""
    """Text of the latest user turn; empty if texts are not recorded."""
    question_cut: int = 0
    """Characters left out at its end, because it was too long."""


class InferenceClosed(Event, frozen=True, kw_only=True, tag="inference.closed"):
    """How a request ended. One without this event is in flight, or was cut off and not served since."""

    stream: ClassVar[str] = "inference/{0.inference}"
    inference: str
    outcome: Literal["answered", "left", "failed", "bypassed", "cut"]
    """`answered`: the upstream's whole answer was passed on, whatever its status; `left`: the client hung up; `failed`:
    the upstream broke off or gave no answer; `bypassed`: the note was not ready in time, and the request was sent
    without it; `cut`: the process ended first, which the next one records when it begins."""
    status: int
    """HTTP status that the client got; 0 for none, as for a search."""
    problem: str
    input_tokens: int
    """Tokens of the prompt by the upstream's count; -1 if it gave none."""
    cached_tokens: int
    """How many of them the upstream had in its cache; -1 if it did not say."""
    output_tokens: int
    """Tokens of the reply; -1 if the upstream gave no count."""
    latency_us: int
    overhead_us: int
    """How much of that passed here before the request was sent, in microseconds."""
    reply: str = ""
    """Text of the reply; empty if texts are not recorded."""
    reply_cut: int = 0
    """Characters left out at its end, because it was too long."""
    reply_id: str = ""
    """Id that the upstream gave its reply, from which a later request may continue; empty for none."""
    reply_sha256: str = ""
    """SHA-256 that names the conversation up to and including the reply; empty unless it was read completely."""


class FeedbackGiven(Event, frozen=True, kw_only=True, tag="feedback.given"):
    """A client's feedback on an inference or a session. For the same subject, metric and key the latest score and the
    latest demonstration count."""

    stream: ClassVar[str] = "feedback/{0.feedback}"
    feedback: str
    """Hash of the key's name and the idempotency key, 32 hexadecimal digits."""
    inference: str
    """Id of the inference; empty if it is about a session."""
    session: str
    """Its session."""
    metric: str
    """What was measured, in the client's words."""
    kind: Literal["bool", "float", "text", "demonstration"]
    """Kind of the value."""
    value_micro: int
    """The value of a bool or float in [0, 1], in millionths; else 0."""
    text: str
    """The value of a text or demonstration; else empty."""
    key: str
    """Name of the key that gave it, which is the one that the inference came with; empty for none."""
    trust: Trust = "none"
    """What it may do: `gold` moves bandits and proposes memories that no anchor need be able to judge, `full` proposes
    memories, `scores` moves bandits only, `none` is only recorded."""
    memory_id: str = ""
    """Memory that a demonstration proposes; empty for none."""
    unused: str = ""
    """Why a demonstration does not propose a memory; empty if it does."""


class MemoryProposed(AboutMemory, frozen=True, kw_only=True, tag="memory.proposed"):
    """A memory that feedback would make. It reaches no prompt before it is published."""

    feedback: str
    """The demonstration that it is made from."""
    key: str
    """Name of the key that gave it; empty for none."""
    is_gold: bool = False
    """Whether the key's answers are right by the file of keys, so that no anchor need be able to judge it."""
    outcome: Literal["success_memory", "failure_memory"]
    """A wrong reply that was corrected makes a failure memory."""
    task_type: str
    skill: str
    question: LearnedText
    """Text of the user turn."""
    reasoning: LearnedText
    answer: LearnedText
    """The right answer."""
    wrong_answer: LearnedText
    """The reply that was corrected; empty if unknown."""
    origin: Origin
    embedding: EmbeddingBytes
    """Vector of the question."""


class AnchorTrial(Part, frozen=True, kw_only=True):
    """An anchor in the iteration that tried a proposal."""

    question_id: str
    similarity: float
    """Cosine between the anchor and the proposal's question."""
    is_shown: bool
    """Whether the anchor was asked with the proposal in its prompt."""
    was_right: bool
    """Whether it was answered right at the last accepted snapshot."""
    is_right: bool
    """Whether it was answered right now."""


class ProposalSettled(AboutMemory, frozen=True, kw_only=True, tag="proposal.settled"):
    """What a publish decided about a proposal: a memory, nothing, or a question to a person."""

    iteration: int
    verdict: Literal["published", "refused", "waiting"]
    """`published`: it is in use. `refused`: it never will be. `waiting`: it is in quarantine until it is reviewed."""
    reason: str
    """Why it is not in use; empty if it is."""
    floor: float = 0.0
    """Least cosine at which an anchor is near enough to judge it; 0 if unknown."""
    trials: tuple[AnchorTrial, ...] = ()
    """The anchors that were asked with it in their prompts, and the nearest of the other anchors, nearest first."""


class ProposalReviewed(AboutMemory, frozen=True, kw_only=True, tag="proposal.reviewed"):
    """A person, or a key whose answers are gold, decided on a proposal that no anchor could judge."""

    verdict: Literal["approved", "rejected"]
    """`approved`: the next publish takes it into use, if the guard passes it. `rejected`: it never will be."""
    reason: str
    """Why it may be used, or not."""
    by: str
    """Who decided."""
