"""Skill splitting: by task type if a skill resolves several, or else by the operations of its questions. A child for a
task type takes over that type. A child for operations resolves no type, because a question's type does not reveal its
operations. A skill that was split by operations is not split by them again.
"""

from __future__ import annotations

from mage_es.engine.briefs import AuthoredChild, SplittingBrief, SplittingReply, TypeStanding
from mage_es.engine.players.reference.generalising import share
from mage_es.engine.players.reference.principles import by_operations

_LEAST_SAMPLES = 2


def author_split(brief: SplittingBrief) -> SplittingReply:
    if len(brief.task_types) > 1:
        children, reason = _by_task_type(brief), "Its task types need different operations."
    else:
        children, reason = _by_operations(brief), "Its questions need different operations, whatever their type."
    if len(children) < 2 or brief.limit < 2:
        return SplittingReply(children=(), reason="The solutions show no two patterns to split it by.")
    return SplittingReply(children=tuple(children[: brief.limit]), reason=reason)


def _by_task_type(brief: SplittingBrief) -> list[AuthoredChild]:
    order = sorted(brief.task_types, key=lambda tally: (-tally.wrong, tally.task_type))
    children = []
    for tally in order:
        groups = by_operations(tally.samples)
        common = max(groups, key=lambda names: (len(groups[names]), names), default=())
        children.append(
            AuthoredChild(
                name=f"{brief.skill}-{tally.task_type}",
                description=_description(common, f"Questions of the type {tally.task_type}"),
                strategy=_strategy(tally, common),
                resolves=(tally.task_type,),
            )
        )
    return [child for child in children if child.name not in brief.skills]


def _by_operations(brief: SplittingBrief) -> list[AuthoredChild]:
    if brief.parts or not brief.task_types:
        return []
    tally = brief.task_types[0]
    groups = {names: group for names, group in by_operations(tally.samples).items() if len(group) >= _LEAST_SAMPLES}
    order = sorted(groups, key=lambda names: (-len(groups[names]), names))
    children = [
        AuthoredChild(
            name=f"{brief.skill}-by-{'-'.join(names)}",
            description=_description(names, f"Part of {brief.skill}"),
            strategy=_strategy(tally, names),
            resolves=(),
        )
        for names in order
    ]
    return [child for child in children if child.name not in brief.skills and len(child.name) <= 80]


def _description(names: tuple[str, ...], beginning: str) -> str:
    return f"{beginning}: {', then '.join(names)}." if names else f"{beginning}."


def _strategy(tally: TypeStanding, names: tuple[str, ...]) -> str:
    found = share(by_operations(tally.samples).get(names, []))
    return found.strategy if found else ""
