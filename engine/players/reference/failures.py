"""Failure memories: the reference solution as corrective reasoning, and a strategy that failures share."""

from __future__ import annotations

from mage_es.engine.briefs import AuthoredFailure, FailureBrief, FailureReply
from mage_es.engine.players.reference.answers import answer_correction, is_episode
from mage_es.engine.players.reference.generalising import share
from mage_es.engine.players.reference.purchases import purchase_correction
from mage_es.engine.players.reference.solutions import to_plain, type_strategy, worked_cases


def author_failures(brief: FailureBrief) -> FailureReply:
    strategies = _strategies(brief) if brief.wants_strategy else []
    specific = [
        AuthoredFailure(
            question_id=case.question_id,
            kind="specific",
            recognise="",
            reasoning=purchase_correction(case) or to_plain(case.solution) or answer_correction(case),
            answer=case.answer,
        )
        for case in brief.cases
        if case.solution.strip() or not is_episode(case)
    ]
    return FailureReply(memories=(*strategies, *specific[: max(0, brief.limit)]))


def _strategies(brief: FailureBrief) -> list[AuthoredFailure]:
    pairs = worked_cases(brief.cases)
    found = share([worked for _, worked in pairs])
    recognise = f"A question of the kind {brief.task_type}."
    return [type_strategy(pairs[found.members[0]][0], recognise, found.strategy)] if found else []
