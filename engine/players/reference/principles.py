"""Principles: the order of the operations that failed questions need, or what plans, purchases or answers share."""

from __future__ import annotations

from collections.abc import Sequence

from mage_es.engine.briefs import AuthoredPrinciple, Case, PrinciplesBrief, PrinciplesReply
from mage_es.engine.players.arithmetic.chains import operations_of
from mage_es.engine.players.reference.answers import answer_principles
from mage_es.engine.players.reference.plans import plan_principles
from mage_es.engine.players.reference.purchases import is_shopping, purchase_principles
from mage_es.engine.players.reference.solutions import Worked, worked_cases
from mage_es.engine.players.reference.strategies import split_steps

_LEAST_CASES = 2


def author_principles(brief: PrinciplesBrief) -> PrinciplesReply:
    if is_shopping(brief.cases):
        found = purchase_principles(brief.cases, brief.existing)
    else:
        found = _worked(brief) or plan_principles([*brief.cases, *brief.solved], brief.existing)
        found = found or answer_principles([*brief.cases, *brief.solved], brief.existing)
    shared = [each for each in found if len(each.cases) >= _LEAST_CASES]
    return PrinciplesReply(principles=tuple(shared[: max(0, brief.limit)]))


def _worked(brief: PrinciplesBrief) -> list[AuthoredPrinciple]:
    shown: dict[tuple[str, ...], list[str]] = {}
    for case, worked in worked_cases([*brief.cases, *brief.solved]):
        shown.setdefault(steps_of(worked), []).append(case.question_id)
    said = {names: f"Carry the operations out in this order: {', then '.join(names)}." for names in shown}
    return [
        AuthoredPrinciple(do=said[names], cases=tuple(shown[names]))
        for names in sorted(by_operations(brief.cases))
        if said[names] not in brief.existing
    ]


def by_operations(cases: Sequence[Case]) -> dict[tuple[str, ...], list[Worked]]:
    groups: dict[tuple[str, ...], list[Worked]] = {}
    for _, worked in worked_cases(cases):
        if names := steps_of(worked):
            groups.setdefault(names, []).append(worked)
    return groups


def steps_of(worked: Worked) -> tuple[str, ...]:
    return tuple(name for step in split_steps(worked.chain) for name in operations_of(step))
