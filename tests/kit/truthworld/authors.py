"""`truth/guide`: what `builtin/reference` writes, but of the marks of truthworld wherever it states a lesson.

It believes the solutions, and states as a rule what most of them agree on, so a poisoned solution becomes a poisoned
memory of its question, and rarely more.
"""

from functools import partial

import msgspec

from mage_es.engine.briefs import (
    AuthoredChild,
    AuthoredPrinciple,
    FailureBrief,
    FailureReply,
    PrinciplesBrief,
    PrinciplesReply,
    RefinementBrief,
    RefinementReply,
    SplittingBrief,
    SplittingReply,
    TypeStanding,
)
from mage_es.engine.players.reference.authors import AUTHORS as REFERENCE
from mage_es.engine.players.reference.authors import author_failures as write_corrections
from mage_es.engine.players.reference.authors import by_brief
from mage_es.engine.players.reference.model import teacher_reply
from mage_es.engine.players.reference.solutions import type_strategy
from mage_es.engine.players.stand_in import StandIn
from tests.kit.truthworld.claims import Claim, claims_in
from tests.kit.truthworld.solutions import agreed, sentences
from tests.kit.truthworld.tools import author_tools

_ORDER = "Apply the marks from left to right, each to the result of the one before."
_STRATEGY_LENGTH = 600
_LEAST_SUPPORT = 2


def author_failures(brief: FailureBrief) -> FailureReply:
    specific = write_corrections(msgspec.structs.replace(brief, wants_strategy=False)).memories
    rules = agreed(case.solution for case in brief.cases) if brief.wants_strategy and len(brief.cases) > 1 else {}
    recognise, told = f"The question has marks such as {', '.join(rules)}.", f"{_ORDER} {sentences(rules)}"
    return FailureReply(memories=(*([type_strategy(brief.cases[0], recognise, told)] if rules else []), *specific))


def author_principles(brief: PrinciplesBrief) -> PrinciplesReply:
    known = {text.partition(" ")[0] for text in brief.existing}
    cases, failed = [*brief.cases, *brief.solved], agreed(case.solution for case in brief.cases)
    rules = agreed(case.solution for case in cases)
    claims = [Claim(mark, rules[mark]) for mark in failed if mark not in known]
    shown = {claim: tuple(case.question_id for case in cases if claim in claims_in(case.solution)) for claim in claims}
    new = [
        AuthoredPrinciple(do=f"{claim}, wherever it stands.", cases=shown[claim])
        for claim in claims
        if len(shown[claim]) >= _LEAST_SUPPORT
    ]
    return PrinciplesReply(principles=tuple(new[: max(0, brief.limit)]))


def author_refinement(brief: RefinementBrief) -> RefinementReply:
    solutions = [*(case.solution for case in brief.cases), *(case.solution for case in brief.solved)]
    return RefinementReply(
        prompt_template=_ORDER if len(_ORDER) <= brief.length else "",
        strategy=sentences(agreed(solutions), length=brief.length),
    )


def author_splitting(brief: SplittingBrief) -> SplittingReply:
    fresh = [one for one in brief.task_types if _child_name(brief.skill, one) not in brief.skills]
    if len(brief.task_types) < 2 or len(fresh) < 2:
        return SplittingReply(children=(), reason="The skill resolves no two task types of its own.")
    worst = sorted(fresh, key=lambda one: (one.right / max(1, one.right + one.wrong), one.task_type))
    children = tuple(
        AuthoredChild(
            name=_child_name(brief.skill, one),
            description=f"{brief.description} Only for {one.task_type}.".strip(),
            strategy=sentences(agreed(case.solution for case in one.samples), length=_STRATEGY_LENGTH),
            resolves=(one.task_type,),
        )
        for one in worst[: max(0, brief.limit)]
    )
    return SplittingReply(children=children, reason="Each land has marks of its own.")


def _child_name(skill: str, standing: TypeStanding) -> str:
    return f"{skill}-{standing.task_type.rpartition('_')[2]}"


AUTHORS = {
    **REFERENCE,
    **by_brief(author_failures, author_principles, author_tools, author_refinement, author_splitting),
}
reply = teacher_reply(AUTHORS)
TruthGuide = partial(StandIn, "truth/guide", reply, teacher_sees="solutions")
