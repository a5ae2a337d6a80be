"""Prompt refinement: what a skill's failures call for, and the steps that their solutions share."""

from __future__ import annotations

from mage_es.engine.briefs import RefinementBrief, RefinementReply
from mage_es.engine.players.reference.generalising import share
from mage_es.engine.players.reference.solutions import worked_cases

INSTRUCTION = "Write every step as an equation, and ask after each whether its result is what the question asks for."


def author_refinement(brief: RefinementBrief) -> RefinementReply:
    worked = [worked for _, worked in worked_cases(brief.cases)]
    found = share(worked)
    return RefinementReply(
        prompt_template=INSTRUCTION if worked and len(INSTRUCTION) <= brief.length else "",
        strategy=found.strategy if found and len(found.strategy) <= brief.length else "",
    )
