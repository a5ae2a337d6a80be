"""What two runs learned, taken together: their memories, each once, with everything that either run records about it.

Rules
    - A memory's id is the hash of its content, so the same id means the same memory. The earliest record of it is kept,
      with its origin.
    - What either run took out of use stays out of use: by quarantine, or because something replaced it, if the
      replacement is taken too.
    - What must not come from one of the runs (`out`) comes from neither.
    - So on memories a merge is commutative, associative and idempotent.
    - Besides memories, only the skills and task types that they name are taken. Mastery, bandits, the gate and the
      record of recall measured each run by itself, and start afresh; tools, recipes, patterns and refined prompts are
      not taken.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from mage_es.engine.rules.new_memories import CASE
from mage_es.events import vocabulary as v
from mage_es.projections.graph import Graph
from mage_es.projections.ordering import ORDERING_KINDS
from mage_es.projections.slices import birth_of

WhyLeft = Literal["question", "origin", "kind"]
OTHER_KINDS = (v.ActionRecipeHarvested, v.PatternAbstracted, v.RetrievalRecipeAuthored, v.ToolAuthored)
"""What is learned besides memories."""


class HeldMemory(NamedTuple):
    """A memory with everything recorded about it: ids of what replaced it, (reason, by) of each quarantine."""

    memory: v.MemoryAppended
    superseded_by: frozenset[str] = frozenset()
    quarantined: frozenset[tuple[str, str]] = frozenset()


class Memories(NamedTuple):
    """What one run brings, or several together: memories by id, and ids of what must not be taken, each with the
    reason."""

    by_id: Mapping[str, HeldMemory]
    out: Mapping[str, WhyLeft]


def remembered_in(events: Iterable[v.Event]) -> dict[str, HeldMemory]:
    """Return the memories that the events of one run make, by id."""
    found = dict[str, HeldMemory]()
    for event in events:
        match event:
            case v.MemoryAppended():
                found.setdefault(event.memory_id, HeldMemory(event))
            case v.MemorySuperseded(memory_id=name, by=by):
                found[name] = found[name]._replace(superseded_by=frozenset({by}))
            case v.MemoryQuarantined(memory_id=name) if name in found:
                found[name] = found[name]._replace(quarantined=frozenset({(event.reason, event.by)}))
            case v.MemoryReleased(memory_id=name) if name in found:
                found[name] = found[name]._replace(quarantined=frozenset())
    return found


def merged(one: Memories, other: Memories) -> Memories:
    out = {name: min(each[name] for each in (one.out, other.out) if name in each) for name in {*one.out, *other.out}}
    held = dict[str, HeldMemory]()
    for name, each in (*one.by_id.items(), *other.by_id.items()):
        if name not in out:
            held[name] = _joined(held[name], each) if name in held else each
    return Memories(held, out)


def _joined(one: HeldMemory, other: HeldMemory) -> HeldMemory:
    return HeldMemory(
        min(one.memory, other.memory, key=_account),
        one.superseded_by | other.superseded_by,
        one.quarantined | other.quarantined,
    )


def _account(memory: v.MemoryAppended) -> tuple[object, ...]:
    return (*birth_of(memory.iteration, memory.phase, memory.ordinal), msgspec.msgpack.encode(memory))


def drafts_of(found: Memories) -> Iterator[v.Draft]:
    """Yield the memories in the order of their creation, then what is recorded about them."""
    held = sorted(found.by_id.values(), key=lambda each: _account(each.memory))
    for each in held:
        yield v.Draft(event=each.memory, iteration=each.memory.iteration, phase=each.memory.phase)
    for each in held:
        name = each.memory.memory_id
        for by in sorted(each.superseded_by & found.by_id.keys())[:1]:
            yield opening(v.MemorySuperseded(memory_id=name, by=by))
        for reason, by in sorted(each.quarantined)[:1]:
            yield opening(v.MemoryQuarantined(memory_id=name, reason=reason, by=by))


def is_of_one(memory: v.MemoryAppended) -> bool:
    """Return whether a memory is the case of a single question; guidance sees several when it writes."""
    return memory.outcome == "success_memory" or memory.kind == CASE


def opening(event: v.Event) -> v.Draft:
    return v.Draft(event=event, iteration=-1, phase="open")


def names_of(events: Iterable[v.Event]) -> Iterator[v.Event]:
    """Yield the skills, task types and edges between them of several runs' events, each once, except an edge that would
    close a cycle of prerequisites."""
    graph, seen = Graph(), set[tuple[str, ...]]()
    for event in events:
        match event:
            case v.SkillCreated(skill=name) | v.TaskTypeCreated(task_type=name) | v.TaskTypeRetired(task_type=name):
                key: tuple[str, ...] = (type(event).__name__, name)
            case v.EdgeAdded(kind=kind, source=source, target=target) if kind in (*ORDERING_KINDS, "resolves"):
                key = (kind, source, target)
                if kind in ORDERING_KINDS and graph.would_close_cycle(source, target):
                    continue
            case _:  # memories, which `drafts_of` yields, and all that a merge does not take (see the rules above)
                continue
        if key not in seen:
            seen.add(key)
            graph.apply(event)
            yield event
