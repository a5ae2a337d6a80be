"""Skill splitting as events: a skill is split into narrower ones, which compose into it and take over its task types.

Rules
    - A child inherits its parent's mastery, prompt template and (if none is written for the child) strategy, and needs
      all that the parent needs. Until it has its own, it also uses the parent's tool and posteriors (rules/bandits.py).
    - A child resolves a task type with a greater weight than its parent, so `skill_for_task` gives the child. The
      parent keeps the types that no child takes. A child that takes none is refused: it would never have a question of
      its own, but would count towards the cap. So a skill of one task type is never split.
"""

from collections.abc import Iterable, Sequence

from mage_es.engine.briefs import AuthoredChild, SplittingReply
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.rules.ontology import SKILL_CAP, is_name, ordering_edge
from mage_es.engine.rules.rotation import ActionTurn, Written
from mage_es.events.vocabulary import EdgeAdded, EdgeRefused, Event, SkillCreated, SkillSplit
from mage_es.projections.fold import State
from mage_es.projections.graph import Graph

LEAST_CHILDREN = 2
NOTHING_GUARDED = Guarded()
FULL = f"refused: there would be more than {SKILL_CAP} skills"
UNDIVIDED = "refused: its task types would not be divided"


def hindrance(state: State, skill: str) -> str:
    """Return why a skill cannot be split, whatever its children would be."""
    return FULL if len(state.graph.task_types_of(skill)) > 1 else UNDIVIDED


def room(state: State, created: int = 0) -> int:
    return max(0, SKILL_CAP - len(state.graph.skills()) - created)


def split(
    turn: ActionTurn, reply: SplittingReply, *, taken: Sequence[str] = (), guarded: Guarded = NOTHING_GUARDED
) -> Written:
    """Return the split of a skill; `taken` are the names of skills that the same EVOLVE created already.

    [section 3.3, skill splitting] Children inherit the mastery and take over task types by weight; the cap of 30 skills
    holds.
    """
    state, skill = turn.state, turn.skill
    # A child with a taken name would duplicate another skill; the others may still suffice for a split.
    names = {*state.graph.skills(), *taken}
    children = [child for child in _usable(reply.children, guarded) if child.name not in names]
    if not reply.children:
        return Written()
    if len(children) < LEAST_CHILDREN:
        return Written(refused=f"refused: a split needs {LEAST_CHILDREN} children with new names of one line")
    resolving = list(_resolving(state, skill, children))
    taking = [event.source for event in resolving if isinstance(event, EdgeAdded)]
    idle = [child.name for child in children if f"skill/{child.name}" not in taking]
    children = [child for child in children if child.name not in idle]
    # What the parent keeps counts as a part too: one child that takes everything is the parent under another name.
    if not children or (len(children) == 1 and len(taking) == len(state.graph.task_types_of(skill))):
        return Written(refused=UNDIVIDED)
    # All or nothing: a split with some of its children would leave task types to none of them.
    if len(children) > room(state, len(taken)):
        return Written(refused=FULL)
    slots = state.slots
    events: list[Event] = [
        SkillSplit(
            iteration=turn.iteration,
            skill=skill,
            children=tuple(child.name for child in children),
            reason=reply.reason,
            origin=turn.origin,
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
    events += resolving
    return Written(
        tuple(events), len(children), f"refused: {', '.join(idle)} would resolve no task type" if idle else ""
    )


def _usable(children: Iterable[AuthoredChild], guarded: Guarded) -> list[AuthoredChild]:
    kept: dict[str, AuthoredChild] = {}
    for child in children:
        if is_name(child.name, guarded):  # the first of each name counts: a reply may repeat itself
            kept.setdefault(child.name, child)
    return list(kept.values())


def _ordering(state: State, skill: str, children: Sequence[AuthoredChild]) -> Iterable[Event]:
    """Apart from edges between children, every path into or out of a child already leads into or out of the parent; so
    only those between the children can close a cycle."""
    for child in children:
        node = f"skill/{child.name}"
        yield EdgeAdded(kind="composes_into", source=node, target=f"skill/{skill}")
        for needed in state.graph.prerequisites(skill):
            yield EdgeAdded(kind="prerequisite_of", source=f"skill/{needed}", target=node)
    # Only edges between the children are tried for cycles (see above), so a graph of these alone is enough.
    among = Graph()
    for child in children:
        among.apply(SkillCreated(skill=child.name, mastery=0.0, prompt_template="", strategy=""))
    for child in children:
        for needed in sorted(set(child.prerequisites)):
            problem = "" if needed in among.skills() else f"no child of {skill} is called {needed!r}"
            yield ordering_edge(among, "prerequisite_of", needed, child.name, problem)


def _resolving(state: State, skill: str, children: Sequence[AuthoredChild]) -> Iterable[Event]:
    # The ontology resolves with weight 1, so the heaviest resolver of a type is always its latest split.
    weight = 2.0 + _depth(state, skill)
    own, given = set(state.graph.task_types_of(skill)), dict[str, str]()
    for child in children:
        for task_type in sorted(set(child.resolves)):
            source, target = f"skill/{child.name}", f"task_type/{task_type}"
            if task_type not in own:
                reason = f"{skill} does not resolve it"
            elif task_type in given:  # with equal weights, names would decide which child answers
                reason = f"{given[task_type]} took it over"
            else:
                given[task_type] = child.name
                yield EdgeAdded(kind="resolves", source=source, target=target, weight=weight)
                continue
            yield EdgeRefused(kind="resolves", source=source, target=target, reason=reason)


def _depth(state: State, skill: str) -> int:
    """Return how many splits led to a skill: each generation resolves with a greater weight."""
    depth = 0
    while skill := state.graph.parent(skill):
        depth += 1
    return depth
