"""The ontology as events: skills, task types, who resolves what, who needs and who builds on whom, without cycles.

Rules
    - Every task type is resolved by some skill; what no skill claims falls to `general`.
    - A prerequisite or composition that would close a cycle, or that names no skill, is refused, and the refusal is a
      fact; so is a dependency that names no other task type.
    - The cap bounds what is active, not what is stored: every authored skill is created with its edges, but only the
      active ones resolve task types, are part of the frontier, and count as skills that may still be split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mage_es.engine.agents.briefs import AuthoredSkill, AuthoredTaskType, OntologyReply
from mage_es.engine.commands import InduceOntology
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.setting import Setting
from mage_es.events.envelope import Draft
from mage_es.events.vocabulary import EdgeAdded, EdgeRefused, Event, PhaseCompleted, SkillCreated, TaskTypeCreated
from mage_es.projections.fold import State
from mage_es.projections.graph import GENERAL, Graph

SKILL_CAP = 30
"""Skill growth cap; paper, hyperparameter table."""
LONGEST_NAME = 80
"""Most characters of a skill's name."""

_NOTHING = OntologyReply(skills=())


def induce_ontology(setting: Setting, state: State, command: InduceOntology) -> list[Draft]:
    """Return the skills, task types and edges of the ontology, and each edge that was refused."""
    reply = command.reply or _NOTHING
    known = sorted(set(command.task_types))
    skills = _skills(reply, setting.guarded)
    created = [
        SkillCreated(skill=skill.name, mastery=0.0, prompt_template="", strategy="", description=skill.description)
        for skill in skills
    ]
    said = {each.task_type: each.description for each in reply.task_types}
    events: list[Event] = list(created)
    events += [TaskTypeCreated(task_type=name, description=said.get(name, "")) for name in known]
    events += _ordering(skills, created)
    events += _resolving(skills, set(known))
    events += _depending(reply.task_types, set(known))
    drafts = [Draft(event=event, iteration=-1, phase="open") for event in events]
    return [*drafts, Draft(event=PhaseCompleted(iteration=-1, phase="open"), iteration=-1, phase="open")]


def active_skills(skills: Iterable[str]) -> list[str]:
    """Return those skills that are active: `general`, then the others by name, at most the cap."""
    return sorted(set(skills), key=lambda name: (name != GENERAL, name))[:SKILL_CAP]


def is_name(name: str, guarded: Guarded) -> bool:
    """Return whether a skill may be called so: one line, not too long, and no question that must not be learned."""
    is_line = name == name.strip() != "" and name.isprintable() and len(name) <= LONGEST_NAME
    return is_line and not guarded.likeness([name]).is_leak


def _skills(reply: OntologyReply, guarded: Guarded) -> list[AuthoredSkill]:
    """Return every skill with a usable name, the active ones first; `general` is always one of them."""
    named = {GENERAL: AuthoredSkill(name=GENERAL, description="", prerequisites=(), resolves=())}
    named |= {skill.name: skill for skill in reply.skills if is_name(skill.name, guarded)}
    return [named[name] for name in sorted(named, key=lambda name: (name != GENERAL, name))]


def _ordering(skills: Sequence[AuthoredSkill], created: Sequence[SkillCreated]) -> Iterator[Event]:
    """Yield each edge between skills or its refusal, decided on a graph that holds what was yielded before it."""
    graph = Graph()
    for skill_created in created:
        graph.apply(skill_created)
    names = {skill.name for skill in skills}
    for kind, source, target in _between(skills):
        reason = ""
        if missing := [name for name in (source, target) if name not in names]:
            reason = f"no skill is called {missing[0]!r}"
        elif graph.would_close_cycle(f"skill/{source}", f"skill/{target}"):
            reason = "it would close a cycle of prerequisites"
        if reason:
            yield EdgeRefused(kind=kind, source=f"skill/{source}", target=f"skill/{target}", reason=reason)
        else:
            edge = EdgeAdded(kind=kind, source=f"skill/{source}", target=f"skill/{target}")
            graph.apply(edge)
            yield edge


def _between(skills: Sequence[AuthoredSkill]) -> Iterator[tuple[str, str, str]]:
    """Yield kind, source and target of every authored edge between skills, prerequisites first."""
    for skill in skills:
        for needed in sorted(set(skill.prerequisites)):
            yield "prerequisite_of", needed, skill.name
    for skill in skills:
        for larger in sorted(set(skill.composes_into)):
            yield "composes_into", skill.name, larger


def _resolving(skills: Sequence[AuthoredSkill], known: set[str]) -> Iterator[Event]:
    active = set(active_skills(skill.name for skill in skills))
    for skill in skills:
        for name in sorted(set(skill.resolves) & known):
            source, target = f"skill/{skill.name}", f"task_type/{name}"
            if skill.name in active:
                yield EdgeAdded(kind="resolves", source=source, target=target)
            else:
                reason = f"more than {SKILL_CAP} skills are not active at a time"
                yield EdgeRefused(kind="resolves", source=source, target=target, reason=reason)


def _depending(task_types: Iterable[AuthoredTaskType], known: set[str]) -> Iterator[Event]:
    authored = {(each.task_type, other) for each in task_types for other in each.depends_on}
    for name, other in sorted(authored):
        source, target = f"task_type/{name}", f"task_type/{other}"
        if name != other and {name, other} <= known:
            yield EdgeAdded(kind="depends_on", source=source, target=target)
        else:
            reason = "it names no task type, or the same one twice"
            yield EdgeRefused(kind="depends_on", source=source, target=target, reason=reason)
