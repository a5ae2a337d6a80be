"""Skill splitting as events: narrower skills that compose into the one they came from and take over task types.

Rules
    - A child inherits mastery, prompt template and (where none is authored) strategy of its parent, and needs
      whatever the parent needs.
    - It resolves a task type with a greater weight than its parent, so `skill_for_task` gives the child. The parent
      keeps the types that no child takes. A skill of one task type can hand it over whole to one child, or be split
      into parts of its solution, which resolve nothing: they order the plan and the chain, no question is theirs.
    - An edge that would close a cycle, or names what is not there, is refused, and the refusal is a fact.
    - There are at most `SKILL_CAP` skills; what would be one too many is not created.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mage_es.engine.agents.briefs import AuthoredChild, AuthoredTaskType, SplittingReply
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.rules.ontology import SKILL_CAP, is_name
from mage_es.engine.rules.rotation import Written
from mage_es.events.vocabulary import EdgeAdded, EdgeRefused, Event, SkillCreated, SkillSplit
from mage_es.projections.fold import State
from mage_es.projections.graph import Graph

LEAST_CHILDREN = 2
"""With fewer children nothing is split."""
NOTHING_GUARDED = Guarded()
FULL = f"refused: there would be more than {SKILL_CAP} skills"


def room(state: State, created: int = 0) -> int:
    """Return how many more skills there may be, after those `created` in the same EVOLVE."""
    return max(0, SKILL_CAP - len(state.graph.skills()) - created)


def split(
    state: State,
    *,
    iteration: int,
    skill: str,
    reply: SplittingReply,
    call: str,
    taken: Sequence[str] = (),
    guarded: Guarded = NOTHING_GUARDED,
) -> Written:
    """Return the split of a skill; `taken` are the names of skills that the same EVOLVE created already."""
    names = {*state.graph.skills(), *taken}
    children = [child for child in _usable(reply.children, guarded) if child.name not in names]
    if not reply.children:
        return Written()
    if len(children) < LEAST_CHILDREN:
        return Written(refused=f"refused: a split needs {LEAST_CHILDREN} children with new names of one line")
    if len(children) > room(state, len(taken)):
        return Written(refused=FULL)
    slots = state.slots
    events: list[Event] = [
        SkillSplit(
            iteration=iteration,
            skill=skill,
            children=tuple(child.name for child in children),
            reason=reply.reason,
            derived_from=call,
        )
    ]
    events += [
        SkillCreated(
            skill=child.name,
            mastery=slots.mastery(skill),
            prompt_template=slots.prompt_template(skill),
            strategy=child.strategy.strip() or slots.strategy(skill),
            parent=skill,
            description=child.description,
        )
        for child in children
    ]
    events += _ordering(state, skill, children)
    events += _resolving(state, skill, children)
    events += _depending(state, reply.task_types)
    return Written(tuple(events), len(children))


def _usable(children: Iterable[AuthoredChild], guarded: Guarded) -> list[AuthoredChild]:
    kept: dict[str, AuthoredChild] = {}
    for child in children:
        if is_name(child.name, guarded):
            kept.setdefault(child.name, child)
    return list(kept.values())


def _ordering(state: State, skill: str, children: Sequence[AuthoredChild]) -> Iterable[Event]:
    """Yield the edges between parent, children and what they need.

    Whatever leads into a child or out of it leads, but for edges between the children, over what leads into or
    out of the parent already; so only those between the children can close a cycle.
    """
    for child in children:
        node = f"skill/{child.name}"
        yield EdgeAdded(kind="composes_into", source=node, target=f"skill/{skill}")
        for needed in state.graph.prerequisites(skill):
            yield EdgeAdded(kind="prerequisite_of", source=f"skill/{needed}", target=node)
    among = Graph()
    for child in children:
        among.apply(SkillCreated(skill=child.name, mastery=0.0, prompt_template="", strategy=""))
    for child in children:
        for needed in sorted(set(child.prerequisites)):
            kind, source, target = "prerequisite_of", f"skill/{needed}", f"skill/{child.name}"
            if needed not in among.skills():
                reason = f"no child of {skill} is called {needed!r}"
                yield EdgeRefused(kind=kind, source=source, target=target, reason=reason)
            elif among.would_close_cycle(source, target):
                reason = "it would close a cycle of prerequisites"
                yield EdgeRefused(kind=kind, source=source, target=target, reason=reason)
            else:
                edge = EdgeAdded(kind=kind, source=source, target=target)
                among.apply(edge)
                yield edge


def _resolving(state: State, skill: str, children: Sequence[AuthoredChild]) -> Iterable[Event]:
    weight = 2.0 + _depth(state, skill)
    own, given = set(state.graph.task_types_of(skill)), dict[str, str]()
    for child in children:
        for task_type in sorted(set(child.resolves)):
            source, target = f"skill/{child.name}", f"task_type/{task_type}"
            if task_type not in own:
                reason = f"{skill} does not resolve it"
            elif task_type in given:
                reason = f"{given[task_type]} took it over"
            else:
                given[task_type] = child.name
                yield EdgeAdded(kind="resolves", source=source, target=target, weight=weight)
                continue
            yield EdgeRefused(kind="resolves", source=source, target=target, reason=reason)


def _depending(state: State, task_types: Iterable[AuthoredTaskType]) -> Iterable[Event]:
    known, seen = set(state.graph.task_types()), set[tuple[str, str]]()
    for each in task_types:
        for other in sorted(set(each.depends_on)):
            source, target = f"task_type/{each.task_type}", f"task_type/{other}"
            if (source, target) in seen:
                continue
            seen.add((source, target))
            if {each.task_type, other} <= known and each.task_type != other:
                yield EdgeAdded(kind="depends_on", source=source, target=target)
            else:
                reason = "it names no task type, or the same one twice"
                yield EdgeRefused(kind="depends_on", source=source, target=target, reason=reason)


def _depth(state: State, skill: str) -> int:
    """Return how many splits a skill comes from: each generation resolves with a greater weight."""
    depth = 0
    while skill := state.graph.parent(skill):
        depth += 1
    return depth
