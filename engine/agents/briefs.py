"""What the guidance tier is asked, and what it may reply: typed briefs and typed replies.

A guidance prompt is a template for a language model, followed by one fenced JSON block that holds a brief.
A language model reads both; `builtin/reference` reads the block alone. The reply is JSON of the reply type.
Every brief names itself by its tag, so a guidance model can be a table from brief to author.
"""

from __future__ import annotations

import msgspec


class Brief(msgspec.Struct, frozen=True, kw_only=True, tag_field="brief"):
    """What the guidance tier is told; subclasses carry a tag."""


class SolvedSample(msgspec.Struct, frozen=True, kw_only=True):
    """An evolution question with its reference solution."""

    question_id: str
    question: str
    solution: str


class TaskTypeSample(msgspec.Struct, frozen=True, kw_only=True):
    """A task type with a few evolution questions of it."""

    task_type: str
    samples: tuple[SolvedSample, ...]


class OntologyBrief(Brief, frozen=True, kw_only=True, tag="ontology"):
    """Phase 0: induce skills, prerequisites and who resolves what from a sample of evolution questions."""

    benchmark: str
    task_types: tuple[TaskTypeSample, ...]
    skill_cap: int


class AuthoredSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill: names of other authored skills as prerequisites, task types that it resolves."""

    name: str
    description: str
    prerequisites: tuple[str, ...]
    resolves: tuple[str, ...]


class OntologyReply(msgspec.Struct, frozen=True, kw_only=True):
    """The ontology. Every task type of the brief is resolved by at least one skill, or falls to `general`."""

    skills: tuple[AuthoredSkill, ...]


class FailureCase(msgspec.Struct, frozen=True, kw_only=True):
    """A question that the learner answered wrongly, with its reply, the right answer and the solution."""

    question_id: str
    question: str
    context: str
    wrong_answer: str
    wrong_reasoning: str
    answer: str
    solution: str


class FailureBrief(Brief, frozen=True, kw_only=True, tag="failure_memories"):
    """EVOLVE: write at most `limit` failure memories of the wanted kinds about these failures."""

    task_type: str
    skill: str
    cases: tuple[FailureCase, ...]
    wants_strategy: bool
    limit: int


class AuthoredFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A failure memory. `kind` is `specific` or `type_strategy`; only the latter has `recognise`."""

    question_id: str
    kind: str
    recognise: str
    reasoning: str
    answer: str


class FailureReply(msgspec.Struct, frozen=True, kw_only=True):
    """Zero or more failure memories."""

    memories: tuple[AuthoredFailure, ...]


class PrinciplesBrief(Brief, frozen=True, kw_only=True, tag="principles"):
    """EVOLVE: abstract rules from this iteration's failures and their solutions, none that exists already."""

    task_type: str
    skill: str
    cases: tuple[FailureCase, ...]
    existing: tuple[str, ...]
    limit: int


class PrinciplesReply(msgspec.Struct, frozen=True, kw_only=True):
    """Zero or more principles, one sentence each."""

    principles: tuple[str, ...]


AnyBrief = OntologyBrief | FailureBrief | PrinciplesBrief
