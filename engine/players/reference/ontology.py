"""The ontology: one skill for each set of operations and length of chain that task types need.

Prerequisites lead from skills with fewer operations and steps to those that contain them, so there is no cycle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median_low
from typing import NamedTuple

from mage_es.engine.briefs import AuthoredSkill, AuthoredTaskType, OntologyBrief, OntologyReply, TaskTypeSample
from mage_es.engine.players.arithmetic.chains import OPERATIONS, operations_of
from mage_es.engine.players.reference.plans import PlannedType, direct_parts, plan_skills, planned_types
from mage_es.engine.players.reference.solutions import work_out

GENERAL = "general"
_MOST_PREREQUISITES = 3


class Demand(NamedTuple):
    steps: int
    names: tuple[str, ...]

    def contains(self, other: Demand) -> bool:
        return other != self and other.steps <= self.steps and set(other.names) <= set(self.names)


def author_ontology(brief: OntologyBrief) -> OntologyReply:
    resolves: dict[Demand, list[str]] = {}
    plans = planned_types(brief.task_types)[: max(0, brief.skill_cap - 1)]
    unread: list[str] = []
    for sample in brief.task_types:
        if any(sample.task_type == planned.name for planned in plans):
            continue
        demand = _demand(sample)
        if demand is None:
            unread.append(sample.task_type)
        else:
            resolves.setdefault(demand, []).append(sample.task_type)
    kept = sorted(resolves)[: max(0, brief.skill_cap - 1 - len(plans))]
    for demand in sorted(resolves)[len(kept) :]:
        unread.extend(resolves[demand])
    general = AuthoredSkill(
        name=GENERAL,
        description="Read the question, find its quantities, and carry out one operation after the other.",
        prerequisites=(),
        resolves=tuple(sorted(unread)),
    )
    return OntologyReply(
        skills=(general, *(_skill(demand, kept, task_types=resolves[demand]) for demand in kept), *plan_skills(plans)),
        task_types=(*_task_types(resolves), *_planned_types(plans)),
    )


def _task_types(resolves: dict[Demand, list[str]]) -> Iterator[AuthoredTaskType]:
    for demand, names in sorted(resolves.items()):
        for name in names:
            yield AuthoredTaskType(task_type=name, description=_describe(demand))


def _planned_types(plans: Sequence[PlannedType]) -> Iterator[AuthoredTaskType]:
    for planned in plans:
        description = f"Plans of about {planned.steps} actions."
        yield AuthoredTaskType(task_type=planned.name, description=description)


def _demand(sample: TaskTypeSample) -> Demand | None:
    chains = [
        worked.chain
        for solved in sample.samples
        if (worked := work_out(solved.question, solved.solution, answer=solved.answer)) is not None
    ]
    if not chains:
        return None
    used = [{name for step in chain.steps for name in operations_of(step)} for chain in chains]
    counts = Counter(name for names in used for name in names)
    names = [name for name in OPERATIONS.values() if 2 * counts[name] >= len(chains)]
    return Demand(median_low(len(chain.steps) for chain in chains), tuple(names))


def _skill(demand: Demand, kept: list[Demand], *, task_types: list[str]) -> AuthoredSkill:
    direct = direct_parts(demand, kept)
    return AuthoredSkill(
        name=_name(demand),
        description=_describe(demand),
        prerequisites=tuple(_name(part) for part in direct[:_MOST_PREREQUISITES]),
        resolves=tuple(sorted(task_types)),
    )


def _name(demand: Demand) -> str:
    return "-".join((*demand.names, str(demand.steps)))


def _describe(demand: Demand) -> str:
    steps = "one equation" if demand.steps == 1 else f"{demand.steps} equations in a row"
    return f"Solve with {steps}, using: {', '.join(demand.names) or 'no operation'}."
