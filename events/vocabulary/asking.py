"""PLAN, and wherever questions are asked: EVALUATE, the anchors of SNAPSHOT, exams."""

from typing import ClassVar

from mage_es.events.facts.event import Event, Part, SubjectText
from mage_es.events.vocabulary.parts import AboutAsking, AboutCall, AboutTypedAsking, LearnedSubjectText, Sent, Tier


class IterationPlanned(Event, frozen=True, kw_only=True, tag="iteration.planned"):
    """The Navigator's plan: the learnable frontier and the questions that this iteration will ask."""

    iteration: int
    frontier: tuple[str, ...]
    """Skills of the learnable frontier."""
    brief: LearnedSubjectText
    """The Navigator's own summary of the plan."""
    # Fresh, revisited and repeated ones separately: a question seen before says less about what was learned.
    epoch: int
    """How often the question pool was used up before."""
    fresh: tuple[str, ...]
    """Ids of the questions asked for the first time in this epoch."""
    revisits: tuple[str, ...]
    """Ids of the questions asked again."""
    repeats: tuple[str, ...]
    """Fresh questions that an earlier epoch has already asked."""


class Retrieved(Part, frozen=True, kw_only=True):
    """A memory in a bundle, with the similarity that brought it there."""

    memory_id: str
    similarity: float
    """Cosine between the question and the memory, with the task type's metric, if any, applied to both; or how right a
    regression expects its answer to be."""
    answer_of: str = ""
    """Memory whose answer is shown instead of its own (the permuted control of an exam); else empty."""
    coin: float = 0.0
    """Probability with which it was left out, if it is on probation and so has its own; 0: that of its question."""


class Span(Part, frozen=True, kw_only=True):
    """A retrieved text in the prompt: characters [offset, offset + length)."""

    offset: int
    """First character."""
    length: int
    """Number of characters."""
    source: str
    """Where the text comes from, such as a memory's id."""


class QuestionPlanned(AboutTypedAsking, frozen=True, kw_only=True, tag="question.planned"):
    """Everything that was decided about a question before the model saw it."""

    # The prompt is with its calls (`Sent`), since a planned question need not be asked.
    # Arms with their probabilities, so that an audit can weigh rewards by how likely each arm was.
    search_arm: str
    """Arm drawn by the search bandit."""
    search_probability: float
    """Probability with which the search arm was drawn; 1.0 when frozen."""
    routing_arm: str
    """Arm drawn by the routing bandit."""
    routing_probability: float
    """Probability with which the routing arm was drawn; 1.0 when frozen."""
    memories: tuple[Retrieved, ...]
    """Memories placed in the prompt, with the cosine that brought them there."""
    principles: tuple[str, ...]
    """Ids of the principles placed in the prompt."""
    template: str
    """Name of the prompt's template."""
    prompt_sha256: SubjectText
    """SHA-256 of the exact prompt, or of the first call's if there are several calls."""
    spans: tuple[Span, ...]
    """Where the retrieved texts are in the prompt."""
    chain: tuple[str, ...] = ()
    """Skills whose steps are asked before the answer, in order."""
    tool_id: str = ""
    """Tool, if the route is `tool`; else empty."""
    recipe_id: str = ""
    """Retrieval recipe, if the search arm is `recipe`; else empty."""
    guiding_skill: str = ""
    """Frontier skill that guides instead of the question's own, which is mastered; else empty."""
    planning: tuple[str, ...] = ()
    """Sub-skills of the goal that the prompt shows, in order."""
    action_recipes: tuple[str, ...] = ()
    """Ids of the action recipes quoted in the prompt."""
    donor: str = ""
    """Question whose memories were shown instead (the shuffled control of an exam); else empty."""
    max_tokens: int = 0
    """The raised limit of its replies, if replies of an earlier phase were cut; 0 for the configured limit."""
    seen: str = ""
    """For an anchor, the hash of everything that its calls can show; empty if unknown beforehand (episodes)."""
    coin: float = 0.0
    """Probability with which each retrieved memory was left out."""
    left_out: tuple[Retrieved, ...] = ()
    """Memories that the coin left out, with the cosine that would have brought them there."""
    form: str = "sections"
    """How cases are shown: `sections` (quoted under headings), `turns` of the chat, or plain `lines`."""
    is_bare: bool = False
    """Whether the prompt shows nothing learned: because that did better on the anchors, or to find out whether it
    does."""


class ModelCalled(AboutCall, frozen=True, kw_only=True, tag="model.called"):
    """A model's reply. (tier, purpose, about, attempt, request_sha256) is the idempotency key within a phase."""

    # Of several calls for one question, those before the last have their place in `about`, such as `q17/1`: a resumed
    # run must not mistake one for another.
    request_sha256: SubjectText
    model: str
    text: SubjectText
    """The model's reply without its thinking; empty if there was nothing else."""
    stop_reason: str
    """Why the model stopped: `end`, `length` if a limit cut it, `loop` if the limit cut a reply that repeated itself,
    `refused`, or the provider's own word."""
    input_tokens: int
    """Tokens of the request."""
    output_tokens: int
    """Tokens of the reply."""
    cached_tokens: int = 0
    """Input tokens that the provider had cached."""
    thinking_tokens: int = 0
    """Output tokens of hidden thinking."""
    # These enter no digest: they change time and price, not what was learned.
    latency_us: int = 0
    provider_id: str = ""
    """The provider's id of the reply; may be empty."""
    cache_write_tokens: int = 0
    """Input tokens that the provider wrote into its cache."""
    batched: bool = False
    """Whether the reply came in a batch."""
    served_by: str = ""
    """The provider's name for the model, if not the requested one (an alias may move); else empty."""
    sent: Sent = Sent()
    """The request."""


class BatchedCall(Part, frozen=True, kw_only=True):
    """A call in a batch, by its idempotency key."""

    custom_id: str
    """Name of the call within its batch."""
    purpose: str
    about: str
    attempt: int
    request_sha256: SubjectText
    tries: int


class BatchSubmitted(Event, frozen=True, kw_only=True, tag="batch.submitted"):
    """A provider accepted a batch of calls; each reply is recorded as an ordinary `model.called`."""

    # Recorded before waiting for the replies: a resumed run finds the batch by it and pays for no call twice.
    stream: ClassVar[str] = "batch/{0.batch_id}"
    iteration: int
    tier: Tier
    model: str
    batch_id: str
    """The provider's id of the batch."""
    calls: tuple[BatchedCall, ...]
    """Its calls."""


class EmbeddingCalled(Event, frozen=True, kw_only=True, tag="embedding.called"):
    """A reply of a server that turns texts into vectors; the vectors are in the events that they belong to."""

    # No digest depends on these calls: a replay makes none, and a resumed process makes them again for vectors that no
    # event holds. Calls made before the run has a log are recorded with its first events.
    stream: ClassVar[str] = "embedding/{0.number}"
    iteration: int
    purpose: str
    """`fingerprint` for the fixed texts that identify an embedder, `vectors` for any other."""
    number: int
    """Number of the call among the embedder's in this log, from 1."""
    texts: int
    """Number of texts in the request."""
    tries: int
    """Failed attempts at the call before the reply."""
    request_sha256: str
    model: str
    input_tokens: int = 0
    """Tokens of the texts as the server counts them; 0 if it does not."""
    latency_us: int = 0


class AnswerJudged(AboutTypedAsking, frozen=True, kw_only=True, tag="answer.judged"):
    """The Critic's verdict on an answer."""

    answer: SubjectText
    """The answer extracted from the reply."""
    # The right answer is not here but beside the log, so that a copy can do without it.
    score_micro: int
    # A score may be partial, as F1 is; mastery and the guard count right and wrong.
    correct: bool
    """Whether the answer is right."""
    strict: bool
    """Whether the answer was in exactly the required form."""
    judge: str
    """What decided whether it is right: a rule or a model."""
    reason: str = ""
    """What the reply lacked: `truncated`, `looped`, `empty`, `refused`; empty for a whole one."""
    seen: str = ""
    """For an anchor, the plan's hash of what it could see: it tells a later snapshot that nothing changed for the
    anchor."""
    recalled: bool = False
    """Whether the answer is the nearest case's: no model was asked."""


class AnswerUndecided(AboutTypedAsking, frozen=True, kw_only=True, tag="answer.undecided"):
    """Neither the rule nor a judge could decide on an answer: it is neither right nor wrong, and teaches nothing."""

    # A separate event: whatever learns from verdicts reads `answer.judged`, and so cannot mistake this for a wrong
    # answer.
    answer: SubjectText
    """What was read from the reply."""
    problem: SubjectText
    """Why: a kind and, after a colon, the details."""


class AnswerCarried(Event, frozen=True, kw_only=True, tag="answer.carried"):
    """An anchor that was not asked, because it would see nothing new or enough others were asked: its earlier verdict
    holds."""

    stream: ClassVar[str] = "question/{0.question_id}"
    iteration: int
    question_id: str
    task_type: str
    correct: bool
    """The earlier verdict."""


class CallFailed(AboutCall, frozen=True, kw_only=True, tag="call.failed"):
    """An attempt at a call failed. A call of the embedder's tier has no agent, and `about` is as in `embedding/7`."""

    # Recorded before the next attempt is made, so `tries` includes the failures of earlier processes.
    tries: int
    request_sha256: SubjectText
    model: str
    fault: str
    """Kind of the failure, one of those in engine/seams/faults.py."""
    status: int
    """HTTP status of the refusal; 0 for none."""
    problem: SubjectText
    final: bool
    """Whether no further attempt at the call follows."""
    latency_us: int = 0
    wait_us: int = 0
    """How long the next attempt waits, at least (longer if all calls pause); 0 if none follows, or if it follows at
    once."""
    sent: Sent = Sent()
    """The request; empty for the embedder's tier."""


class BundleTrimmed(AboutAsking, frozen=True, kw_only=True, tag="bundle.trimmed"):
    """A request did not fit the model's context; it was made again without one memory or principle."""

    # It stays out of every later call for the same question, so the prompt that was answered follows from the
    # plan and all of these events.
    about: str
    request_sha256: SubjectText
    memory_id: str
    problem: SubjectText


class AnswerUnanswered(AboutTypedAsking, frozen=True, kw_only=True, tag="answer.unanswered"):
    """A question got no answer because a call for it failed permanently: neither right nor wrong, and final."""

    # A separate event: counted as wrong, a provider's outage would lower the mastery of skills.
    problem: SubjectText


class ReplyRejected(AboutCall, frozen=True, kw_only=True, tag="reply.rejected"):
    """A model's reply did not have the required form. The call itself is a `model.called`."""

    problem: SubjectText


class ToolRan(Event, frozen=True, kw_only=True, tag="tool.ran"):
    """A dynamic tool ran in its sandbox for a question, with a result or a problem."""

    # The result is recorded, because a replay runs no tool.
    stream: ClassVar[str] = "question/{0.question_id}"
    iteration: int
    purpose: str
    question_id: str
    tool_id: str
    arguments: SubjectText
    result: SubjectText
    problem: SubjectText


class SearchAnswered(Event, frozen=True, kw_only=True, tag="search.answered"):
    """Something was looked up for a question. If a page does not exist, `titles` are similar ones and `texts` is empty.
    If the lookup itself failed, `problem` says why, and nothing was found.
    """

    # Texts in full: a source on the web may say something else when the run is read again.
    stream: ClassVar[str] = "question/{0.question_id}"
    iteration: int
    purpose: str
    question_id: str
    place: int
    """Number of this lookup for the question, from 1."""
    search: str
    """Spec of the search."""
    wanted: str
    """`page`, by its title, or `passages`, the best for a query."""
    query: SubjectText
    """What was looked up."""
    titles: tuple[SubjectText, ...]
    """Titles of the pages that were found, or of similar ones."""
    texts: tuple[SubjectText, ...]
    """Texts of the pages that were found."""
    problem: SubjectText = ""
    """Why this lookup failed, or ""."""
