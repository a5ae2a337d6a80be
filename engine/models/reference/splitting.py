"""Skill splitting by rule: by task type where a skill resolves several, else by the operations of its questions.

Rules
    - A child for a task type takes that type over. A child for operations resolves nothing, because a question's type
      says nothing of its operations: it is a part of the skill, for its plan and its chain.
    - What was split by operations already is not split so again.
"""

from __future__ import annotations

from mage_es.engine.agents.briefs import (
    AuthoredChild,
    AuthoredTaskType,
    SplittingBrief,
    SplittingReply,
    TypeStanding,
)
from mage_es.engine.models.arithmetic.strategies import print_strategy
from mage_es.engine.models.reference.generalising import generalise
from mage_es.engine.models.reference.principles import by_operations

_LEAST_SAMPLES = 2


def author_split(brief: SplittingBrief) -> SplittingReply:
    """Return the children, or none with the reason."""
    if len(brief.task_types) > 1:
        children, reason = _by_task_type(brief), "Its task types need different operations."
    else:
        children, reason = _by_operations(brief), "Its questions need different operations, whatever their type."
    if len(children) < 2 or brief.limit < 2:
        return SplittingReply(children=(), task_types=(), reason="The solutions show no two patterns to split it by.")
    return SplittingReply(
        children=tuple(children[: brief.limit]), task_types=_dependencies(brief.task_types), reason=reason
    )


def _by_task_type(brief: SplittingBrief) -> list[AuthoredChild]:
    """Return a child for each task type, those with most wrong answers first."""
    order = sorted(brief.task_types, key=lambda standing: (-standing.wrong, standing.task_type))
    children = []
    for standing in order:
        groups = by_operations(standing.samples)
        common = max(groups, key=lambda names: (len(groups[names]), names), default=())
        children.append(
            AuthoredChild(
                name=f"{brief.skill}-{standing.task_type}",
                description=_description(common, f"Questions of the type {standing.task_type}"),
                strategy=_strategy(standing, common),
                resolves=(standing.task_type,),
            )
        )
    return [child for child in children if child.name not in brief.skills]


def _by_operations(brief: SplittingBrief) -> list[AuthoredChild]:
    """Return a child for each order of operations that at least two questions need, the commonest first."""
    if brief.parts or not brief.task_types:
        return []
    standing = brief.task_types[0]
    groups = {names: group for names, group in by_operations(standing.samples).items() if len(group) >= _LEAST_SAMPLES}
    order = sorted(groups, key=lambda names: (-len(groups[names]), names))
    children = [
        AuthoredChild(
            name=f"{brief.skill}-by-{'-'.join(names)}",
            description=_description(names, f"Part of {brief.skill}"),
            strategy=_strategy(standing, names),
            resolves=(),
        )
        for names in order
    ]
    return [child for child in children if child.name not in brief.skills and len(child.name) <= 80]


def _description(names: tuple[str, ...], beginning: str) -> str:
    return f"{beginning}: {', then '.join(names)}." if names else f"{beginning}."


def _strategy(standing: TypeStanding, names: tuple[str, ...]) -> str:
    found = generalise(by_operations(standing.samples).get(names, []))
    return print_strategy(found[0]) if found else ""


def _dependencies(task_types: tuple[TypeStanding, ...]) -> tuple[AuthoredTaskType, ...]:
    """Return which task types build on which: those whose operations are all among their own, and fewer."""
    needs = {one.task_type: {name for names in by_operations(one.samples) for name in names} for one in task_types}
    return tuple(
        AuthoredTaskType(
            task_type=name,
            description="",
            depends_on=tuple(sorted(other for other in needs if needs[other] and needs[other] < needs[name])),
        )
        for name in sorted(needs)
    )
