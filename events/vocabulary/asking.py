"""PLAN and every asking of questions: EVALUATE, the anchors of SNAPSHOT, exams."""

from __future__ import annotations

from typing import ClassVar

from mage_es.events.vocabulary.form import Event, Part, Purpose, Tier


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
    not stored: it is rendered again from `template` and `memories`, and held against `prompt_sha256`; of several
    calls this is the first. `chain` names the skills whose steps are asked before the answer, `tool_id` the tool of the
    route `tool`, `recipe_id` the retrieval recipe of the arm `recipe`. The rest is the cascade's: `guiding_skill` is
    the frontier skill that stands in for a mastered one, `planning` the sub-skills of the goal in order,
    `action_recipes` what is quoted of earlier episodes. `donor` is the question that another one's memories were
    retrieved for in its stead (the shuffled control of an exam).
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
    chain: tuple[str, ...] = ()
    tool_id: str = ""
    recipe_id: str = ""
    guiding_skill: str = ""
    planning: tuple[str, ...] = ()
    action_recipes: tuple[str, ...] = ()
    donor: str = ""

    stream: ClassVar[str] = "question/{0.question_id}"


class ModelCalled(Event, frozen=True, kw_only=True, tag="model.called"):
    """A model's reply. (tier, purpose, about, attempt, request_sha256) is the idempotency key within a phase.

    `about` is a question id or what else was asked about; of several calls for one question those before the last
    carry their place, as in `q17/1`. `latency_us` is information only and enters no digest; nor do `cache_write_tokens`
    and whether the call came in a batch, which change the price and nothing else. `served_by` says, for who audits a
    run, what the provider called the model, where that is another name than was asked for: an alias may move.
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
    cache_write_tokens: int = 0
    batched: bool = False
    served_by: str = ""

    stream: ClassVar[str] = "call/{0.tier}/{0.purpose}/{0.about}/{0.attempt}"


class BatchedCall(Part, frozen=True, kw_only=True):
    """A call in a batch: its key, how many attempts at it had failed before, and what names it to the provider."""

    custom_id: str
    purpose: str
    about: str
    attempt: int
    request_sha256: str
    tries: int


class BatchSubmitted(Event, frozen=True, kw_only=True, tag="batch.submitted"):
    """A provider took many calls at once and works on them by itself; recorded before anybody waits for the replies.

    Whoever goes on with the run finds the batch again by this event, so that no call of it is paid for twice. Each
    reply is recorded as an ordinary `model.called`.
    """

    iteration: int
    tier: Tier
    model: str
    batch_id: str
    calls: tuple[BatchedCall, ...]

    stream: ClassVar[str] = "batch/{0.batch_id}"


class EmbeddingCalled(Event, frozen=True, kw_only=True, tag="embedding.called"):
    """A reply of a server that turns texts into vectors; on record before the next one is asked for.

    `purpose` is `fingerprint` for the fixed texts that tell what the embedder does, else `vectors`. What is asked for
    before a run has a log is recorded with its first events. The vectors themselves are recorded with what they belong
    to, if that lasts. No digest depends on these calls: a replay makes none, and a resumed process asks again for
    whatever it needs that no event holds.
    """

    iteration: int
    purpose: str
    number: int
    texts: int
    tries: int
    request_sha256: str
    model: str
    input_tokens: int = 0
    latency_us: int = 0

    stream: ClassVar[str] = "embedding/{0.number}"


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

    stream: ClassVar[str] = "question/{0.question_id}"


class CallFailed(Event, frozen=True, kw_only=True, tag="call.failed"):
    """An attempt at a call that brought no reply; on record before the next one is made.

    `attempt` is that of the reply that did not come; `tries` counts the failures of that call, those of earlier
    processes included. `fault` is one of the kinds of engine/models/faults.py; `final` failures are followed by no
    further attempt. A call of the embedder's tier is made by no agent; `about` is its number, as in
    `embedding/7`.
    """

    iteration: int
    tier: Tier
    agent: str
    purpose: str
    about: str
    attempt: int
    tries: int
    request_sha256: str
    model: str
    fault: str
    status: int
    problem: str
    final: bool
    latency_us: int = 0

    stream: ClassVar[str] = "call/{0.tier}/{0.purpose}/{0.about}/{0.attempt}"


class BundleTrimmed(Event, frozen=True, kw_only=True, tag="bundle.trimmed"):
    """A prompt did not fit the model's context, so that a call was made again without one memory or principle of it.

    (purpose, about, request_sha256) says which request did not fit. What was left out stays away from every later call
    for the same question; the prompt that was answered follows from the plan and all of these.
    """

    iteration: int
    purpose: Purpose
    question_id: str
    about: str
    request_sha256: str
    memory_id: str
    problem: str

    stream: ClassVar[str] = "question/{0.question_id}"


class AnswerUnanswered(Event, frozen=True, kw_only=True, tag="answer.unanswered"):
    """A question came to no answer because a call for it failed for good: neither right nor wrong, and settled."""

    iteration: int
    purpose: Purpose
    question_id: str
    task_type: str
    skill: str
    problem: str

    stream: ClassVar[str] = "question/{0.question_id}"


class ReplyRejected(Event, frozen=True, kw_only=True, tag="reply.rejected"):
    """A model's reply was not of the form that was asked for, and why; the call itself is recorded besides."""

    iteration: int
    tier: Tier
    agent: str
    purpose: str
    about: str
    attempt: int
    problem: str

    stream: ClassVar[str] = "call/{0.tier}/{0.purpose}/{0.about}/{0.attempt}"


class ToolRan(Event, frozen=True, kw_only=True, tag="tool.ran"):
    """A dynamic tool ran in its sandbox for a question: JSON arguments in, the result as text, or the problem."""

    iteration: int
    purpose: str
    question_id: str
    tool_id: str
    arguments: str
    result: str
    problem: str

    stream: ClassVar[str] = "question/{0.question_id}"


class SearchAnswered(Event, frozen=True, kw_only=True, tag="search.answered"):
    """Something was looked up for a question, the `place`-th time: what was found, as it stood there then.

    `wanted` is a `page` by its title, or the `passages` that fit best. Of a page that is not there `titles` are similar
    ones, and there are no `texts`; otherwise the two go together.
    """

    iteration: int
    purpose: str
    question_id: str
    place: int
    search: str
    wanted: str
    query: str
    titles: tuple[str, ...]
    texts: tuple[str, ...]

    stream: ClassVar[str] = "question/{0.question_id}"
