"""The moves of a course as `show` and `ask` report them: calls with their exact prompts, tools, actions."""

from __future__ import annotations

import msgspec


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A span of a prompt: characters [offset, offset + length) are quoted from this source."""

    offset: int
    length: int
    source: str


class CallReport(msgspec.Struct, frozen=True, kw_only=True, tag="call"):
    """One call: the prompt rendered again, whether that has the recorded hash, where its quotes are from, the reply."""

    about: str
    tier: str
    agent: str
    prompt: str
    verified: bool
    sources: tuple[Source, ...]
    reply: str


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
