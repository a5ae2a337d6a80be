"""A question as `show` and `ask` report it: bundle, calls with their exact prompts, tools, actions, verdict."""

from __future__ import annotations

import msgspec


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A span of a prompt: characters [offset, offset + length) are quoted from this source."""

    offset: int
    length: int
    source: str


class CallReport(msgspec.Struct, frozen=True, kw_only=True, tag="call"):
    """One call: the prompt rendered again, whether that has the recorded hash, where its quotes are from, the reply.

    `served_by` is the provider's name of the model, where it told another one than was asked for.
    """

    about: str
    tier: str
    agent: str
    prompt: str
    verified: bool
    sources: tuple[Source, ...]
    reply: str
    served_by: str = ""


class TrimReport(msgspec.Struct, frozen=True, kw_only=True, tag="trimmed"):
    """A prompt that did not fit the model's context, whether it has the recorded hash, and what was left out of it."""

    about: str
    memory_id: str
    problem: str
    verified: bool


class ToolReport(msgspec.Struct, frozen=True, kw_only=True, tag="tool"):
    """One run of a dynamic tool: what it was given, and what it came to."""

    tool_id: str
    name: str
    arguments: str
    result: str
    problem: str


class SearchReport(msgspec.Struct, frozen=True, kw_only=True, tag="search"):
    """Something looked up: what for, and the titles that were found; `is_there` says whether pages came with them."""

    search: str
    query: str
    titles: tuple[str, ...]
    is_there: bool


class StepReport(msgspec.Struct, frozen=True, kw_only=True, tag="step"):
    """One action in an environment, and what was seen next."""

    step: int
    action: str
    observation: str


MoveReport = CallReport | TrimReport | ToolReport | SearchReport | StepReport


class BundleMember(msgspec.Struct, frozen=True, kw_only=True):
    """A memory in a prompt, and where it came from."""

    memory_id: str
    outcome: str
    similarity: float
    origin: str
    question: str


class QuestionReport(msgspec.Struct, frozen=True, kw_only=True):
    """A question as it was asked: bundle, every move with its exact prompt, the verdict.

    `prompt` and `reply` are those of the execution tier's last call; `prompt_verified`: every prompt, rendered again,
    has the hash that was recorded.
    `judge` is what decided: `rule`, a judge's model, or `nobody`; `unanswered` says why there was nothing to decide.
    """

    run_id: str
    question_id: str
    iteration: int
    purpose: str
    task_type: str
    skill: str
    search_arm: str
    search_probability: float
    routing_arm: str
    routing_probability: float
    bundle: tuple[BundleMember, ...]
    prompt: str
    prompt_verified: bool
    reply: str
    answer: str
    expected: str
    correct: bool | None
    moves: tuple[MoveReport, ...]
    seq: int
    other_times: tuple[str, ...]
    judge: str = "rule"
    unanswered: str = ""


class AskReport(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to a question of the user's own, with the frozen state of a run."""

    run_id: str
    marker: str
    task_type: str
    skill: str
    bundle: tuple[BundleMember, ...]
    prompt: str
    reply: str
    answer: str
    moves: tuple[MoveReport, ...]
