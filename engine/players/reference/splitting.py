"""Skill splitting: a child for each task type that a skill resolves, which takes over that type."""

from __future__ import annotations

from functools import partial

from mage_es.engine.briefs import AuthoredChild, SplittingBrief, SplittingReply, TypeStanding
from mage_es.engine.players.reference.generalising import share
from mage_es.engine.players.reference.principles import by_operations


def author_split(brief: SplittingBrief) -> SplittingReply:
    order = sorted(brief.task_types, key=lambda tally: (-tally.wrong, tally.task_type))
    children = [child for child in map(partial(_child, brief.skill), order) if child.name not in brief.skills]
    if len(children) < 2 or brief.limit < 2:
        return SplittingReply(children=(), reason="The solutions show no two patterns to split it by.")
    return SplittingReply(children=tuple(children[: brief.limit]), reason="Its task types need different operations.")


def _child(skill: str, tally: TypeStanding) -> AuthoredChild:
    groups = by_operations(tally.samples)
    common = max(groups, key=lambda names: (len(groups[names]), names), default=())
    found = share(groups[common]) if groups else None
    beginning = f"Questions of the type {tally.task_type}"
    return AuthoredChild(
        name=f"{skill}-{tally.task_type}",
        description=f"{beginning}: {', then '.join(common)}." if common else f"{beginning}.",
        strategy=found.strategy if found else "",
        resolves=(tally.task_type,),
    )
