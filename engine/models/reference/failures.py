"""Failure memories by rule: the reference solution as corrective reasoning, and a strategy that failures share."""

from __future__ import annotations

from mage_es.engine.agents.briefs import AuthoredFailure, FailureBrief, FailureCase, FailureReply
from mage_es.engine.models.reference.solutions import to_plain


def author_failures(brief: FailureBrief) -> FailureReply:
    """Return at most `limit` failure memories: a type strategy first where one is wanted, then specific ones."""
    memories = [_specific(case) for case in brief.cases if case.solution.strip()]
    return FailureReply(memories=tuple(memories[: max(0, brief.limit)]))


def _specific(case: FailureCase) -> AuthoredFailure:
    return AuthoredFailure(
        question_id=case.question_id,
        kind="specific",
        recognise="",
        reasoning=to_plain(case.solution),
        answer=case.answer,
    )
