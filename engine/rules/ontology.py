"""The ontology as events: skills, task types, and acyclic edges for what a skill resolves and which skills it needs.

Rules
    - Every task type has one main skill: the most specific one that claims it. The skill `general` takes unclaimed
      types.
    - The cap bounds what is active, not what is stored: every authored skill is created with its edges, but only the
      active ones resolve task types, are part of the frontier, and count as skills that may still be split.
"""

from collections.abc import Iterable, Iterator, Sequence

from mage_es.engine.briefs import AuthoredSkill, OntologyReply
from mage_es.engine.commands import InduceOntology
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.rules.phases import phase_drafts
from mage_es.engine.rules.setting import Setting
from mage_es.events.vocabulary import Draft, EdgeAdded, EdgeRefused, Event, SkillCreated, TaskTypeCreated
from mage_es.projections.fold import State
from mage_es.projections.graph import GENERAL, Graph

SKILL_CAP = 30  # skill growth cap; paper, hyperparameter table
LONGEST_NAME = 80  # most characters of a skill's name

_NOTHING = OntologyReply(skills=())


def induce_ontology(setting: Setting, state: State, command: InduceOntology) -> list[Draft]:
    """[section 3.1, no cycles] Prerequisites and compositions together stay acyclic; the refusal of an edge is an
    event.
    """
    # An unreadable reply still gives an ontology: every task type falls to `general`, and splits can grow it later.
    reply = command.reply or _NOTHING
    induced = {each.task_type: each for each in command.induced}
    known = sorted(induced or set(command.task_types))
    skills = _skills(reply, setting.guarded)
    created = [
        SkillCreated(skill=skill.name, mastery=0.0, prompt_template="", strategy="", description=skill.description)
        for skill in skills
    ]
    said = {each.task_type: each.description for each in reply.task_types}
    events: list[Event] = list(created)
    events += [induced.get(name) or TaskTypeCreated(task_type=name, description=said.get(name, "")) for name in known]
    events += _ordering(skills, created)
    events += _resolving(skills, set(known))
    return phase_drafts(-1, "open", events)


def active_skills(skills: Iterable[str]) -> list[str]:
    """Return the active skills: `general`, then the others by name, up to the cap."""
    return sorted(set(skills), key=lambda name: (name != GENERAL, name))[:SKILL_CAP]


def is_name(name: str, guarded: Guarded) -> bool:
    # A name is part of node names, prompts and tables; one with a line break could end its own quotation.
    is_line = name == name.strip() != "" and name.isprintable() and len(name) <= LONGEST_NAME
    return is_line and not guarded.likeness([name]).is_leak


def _skills(reply: OntologyReply, guarded: Guarded) -> list[AuthoredSkill]:
    """Return every skill with a usable name, the active ones first; `general` is always one of them."""
    named = {GENERAL: AuthoredSkill(name=GENERAL, description="", prerequisites=(), resolves=())}
    named |= {skill.name: skill for skill in reply.skills if is_name(skill.name, guarded)}
    return [named[name] for name in sorted(named, key=lambda name: (name != GENERAL, name))]


def _ordering(skills: Sequence[AuthoredSkill], created: Sequence[SkillCreated]) -> Iterator[Event]:
    # A graph of our own: the events are not in the state yet, and each edge depends on those before it.
    graph = Graph()
    for skill_created in created:
        graph.apply(skill_created)
    names = {skill.name for skill in skills}
    for kind, source, target in _between(skills):
        missing = [name for name in (source, target) if name not in names]
        yield ordering_edge(graph, kind, source, target, f"no skill is called {missing[0]!r}" if missing else "")


def ordering_edge(graph: Graph, kind: str, source: str, target: str, problem: str) -> EdgeAdded | EdgeRefused:
    """Return an edge between two skills for the graph, or its refusal because of a problem or a cycle."""
    a, b = f"skill/{source}", f"skill/{target}"
    if not problem and graph.would_close_cycle(a, b):
        problem = "it would close a cycle of prerequisites"
    if problem:
        return EdgeRefused(kind=kind, source=a, target=b, reason=problem)
    edge = EdgeAdded(kind=kind, source=a, target=b)
    graph.apply(edge)
    return edge


def _between(skills: Sequence[AuthoredSkill]) -> Iterator[tuple[str, str, str]]:
    # Prerequisites first: if two edges contradict each other, the weaker claim, composition, is refused.
    for skill in skills:
        for needed in sorted(set(skill.prerequisites)):
            yield "prerequisite_of", needed, skill.name
    for skill in skills:
        for larger in sorted(set(skill.composes_into)):
            yield "composes_into", skill.name, larger


def _resolving(skills: Sequence[AuthoredSkill], known: set[str]) -> Iterator[Event]:
    # More skills than the cap may be authored; those above it are stored but would answer nothing.
    active = set(active_skills(skill.name for skill in skills))
    claims = {skill.name: set(skill.resolves) & known for skill in skills}
    for skill in skills:
        for name in sorted(claims[skill.name]):
            # The skill with the fewest types wins: a skill that claims all of them would leave the others
            # without a question, and they would be learnable for ever.
            claiming = [each for each in claims if name in claims[each] and each in active]
            main = min(claiming, key=lambda each: (len(claims[each]), each), default="")
            reason = f"its main skill is {main}" if skill.name in active else ""
            reason = reason or f"more than {SKILL_CAP} skills are not active at a time"
            source, target = f"skill/{skill.name}", f"task_type/{name}"
            if skill.name == main:
                yield EdgeAdded(kind="resolves", source=source, target=target)
            else:
                yield EdgeRefused(kind="resolves", source=source, target=target, reason=reason)
