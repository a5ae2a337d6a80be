"""The ontology as events: skills, task types, who resolves what, and prerequisites without cycles.

Rules
    - Every task type is resolved by some skill; what no skill claims falls to `general`.
    - A prerequisite edge that would close a cycle, or that names no skill, is refused, and the refusal is a fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mage_es.engine.agents.briefs import AuthoredSkill
from mage_es.engine.commands import InduceOntology
from mage_es.engine.setting import Setting
from mage_es.events.envelope import Draft
from mage_es.events.vocabulary import EdgeAdded, EdgeRefused, Event, PhaseCompleted, SkillCreated, TaskTypeCreated
from mage_es.projections.fold import State
from mage_es.projections.graph import Graph

GENERAL = "general"
"""The skill that resolves whatever no other skill does."""
SKILL_CAP = 30
"""Skill growth cap; paper, hyperparameter table."""


def induce_ontology(setting: Setting, state: State, command: InduceOntology) -> list[Draft]:
    """Return the skills, task types and edges of the ontology; edges that would close a cycle are refused."""
    known = set(command.task_types)
    skills = {skill.name: skill for skill in (command.reply.skills if command.reply else ())}
    general = skills.pop(GENERAL, AuthoredSkill(name=GENERAL, description="", prerequisites=(), resolves=()))
    kept = [general, *(skills[name] for name in sorted(skills)[: SKILL_CAP - 1])]
    created = [SkillCreated(skill=skill.name, mastery=0.0, prompt_template="", strategy="") for skill in kept]
    events: list[Event] = list(created)
    events += [TaskTypeCreated(task_type=name, description="") for name in sorted(known)]
    events += _prerequisite_edges(kept, created)
    for skill in kept:
        events += [
            EdgeAdded(kind="resolves", source=f"skill/{skill.name}", target=f"task_type/{name}")
            for name in sorted(set(skill.resolves) & known)
        ]
    drafts = [Draft(event=event, iteration=-1, phase="open") for event in events]
    return [*drafts, Draft(event=PhaseCompleted(iteration=-1, phase="open"), iteration=-1, phase="open")]


def _prerequisite_edges(skills: Sequence[AuthoredSkill], created: Sequence[SkillCreated]) -> Iterable[Event]:
    """Yield each edge or its refusal, decided on a graph that holds what was yielded before it."""
    graph = Graph()
    for skill_created in created:
        graph.apply(skill_created)
    for skill in skills:
        for prerequisite in sorted(set(skill.prerequisites)):
            kind, source, target = "prerequisite_of", f"skill/{prerequisite}", f"skill/{skill.name}"
            if prerequisite not in graph.skills():
                reason = f"no skill is called {prerequisite!r}"
                yield EdgeRefused(kind=kind, source=source, target=target, reason=reason)
            elif graph.would_close_cycle(source, target):
                reason = "it would close a cycle of prerequisites"
                yield EdgeRefused(kind=kind, source=source, target=target, reason=reason)
            else:
                edge = EdgeAdded(kind=kind, source=source, target=target)
                graph.apply(edge)
                yield edge
