"""Failure memories by rule: the reference solution as corrective reasoning, and a strategy that failures share."""

from __future__ import annotations

from mage_es.engine.agents.briefs import AuthoredFailure, FailureBrief, FailureCase, FailureReply
from mage_es.engine.models.arithmetic.strategies import print_strategy
from mage_es.engine.models.reference.answers import answer_strategies, is_episode, told_by_answer
from mage_es.engine.models.reference.generalising import common_words, generalise
from mage_es.engine.models.reference.plans import plan_strategies
from mage_es.engine.models.reference.purchases import is_shopping, purchase_correction, purchase_strategies
from mage_es.engine.models.reference.solutions import Worked, to_plain, work_out


def author_failures(brief: FailureBrief) -> FailureReply:
    """Return at most `limit` failure memories: a type strategy first where one is wanted, then specific ones."""
    strategies = _shared(brief) if brief.wants_strategy else []
    memories = [
        *strategies,
        *(_specific(case) for case in brief.cases if case.solution.strip() or not is_episode(case)),
    ]
    return FailureReply(memories=tuple(memories[: max(0, brief.limit)]))


def _shared(brief: FailureBrief) -> list[AuthoredFailure]:
    """Return the strategy of the failures' own kind: of purchases, calculations, plans, or answers alone."""
    if is_shopping(brief.cases):
        return purchase_strategies(brief)
    return _strategies(brief) or plan_strategies(brief) or answer_strategies(brief)


def _specific(case: FailureCase) -> AuthoredFailure:
    return AuthoredFailure(
        question_id=case.question_id,
        kind="specific",
        recognise="",
        reasoning=purchase_correction(case) or to_plain(case.solution) or told_by_answer(case),
        answer=case.answer,
    )


def _strategies(brief: FailureBrief) -> list[AuthoredFailure]:
    """Return the strategy that the failures share, if at least two of them do."""
    pairs: list[tuple[FailureCase, Worked]] = []
    for case in brief.cases:
        worked = work_out(f"{case.context}\n{case.question}".strip(), case.solution, answer=case.answer)
        if worked is not None:
            pairs.append((case, worked))
    found = generalise([worked for _, worked in pairs])
    if found is None:
        return []
    strategy, members = found
    words = common_words([pairs[at][1] for at in members])
    return [
        AuthoredFailure(
            question_id=pairs[members[0]][0].question_id,
            kind="type_strategy",
            recognise=f"The question has {len(strategy.roles)} numbers that matter, and the words: {', '.join(words)}.",
            reasoning=print_strategy(strategy),
            answer=pairs[members[0]][0].answer,
        )
    ]
