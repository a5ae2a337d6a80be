"""Plans: reference solutions that are lists of actions with their effects, and what they share.

A solution is a plan if each of its lines is an action, a colon and an effect, without an equation. Prerequisites lead
from shorter plans to longer ones that contain most of their lines, so there is no cycle.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from statistics import median_low
from typing import Any, NamedTuple, Protocol, TypeVar

from mage_es.engine.briefs import AuthoredPrinciple, AuthoredSkill, Case, TaskTypeSample

_LINE = re.compile(r"([a-z][^:=]*): ([^=]+)")
_CONTAINED = Fraction(3, 5)
"""A task type builds on another if it has at least this share of the other's lines."""
_MOST_PREREQUISITES = 3


class Containing(Protocol):
    def contains(self, other: Any) -> bool: ...


D = TypeVar("D", bound=Containing)


def direct_parts(whole: D, among: Sequence[D]) -> list[D]:
    parts = [other for other in among if whole.contains(other)]
    return [part for part in parts if not any(between.contains(part) for between in parts)]


class PlannedType(NamedTuple):
    steps: int
    name: str
    lines: frozenset[str]

    def contains(self, other: PlannedType) -> bool:
        """Return whether this type has most of the lines of another one with shorter plans."""
        is_shorter = (other.steps, other.name) < (self.steps, self.name)
        return is_shorter and len(other.lines & self.lines) >= _CONTAINED * len(other.lines)


def read_plan(solution: str) -> list[str]:
    lines = [line.strip() for line in solution.splitlines() if line.strip()]
    return lines if all(_LINE.fullmatch(line) for line in lines) else []


def planned_types(samples: Iterable[TaskTypeSample]) -> list[PlannedType]:
    found = []
    for sample in samples:
        plans = [plan for solved in sample.samples if (plan := read_plan(solved.solution))]
        if plans:
            lines = frozenset(line for plan in plans for line in plan)
            found.append(PlannedType(median_low(map(len, plans)), sample.task_type, lines))
    return sorted(found, key=lambda planned: (planned.steps, planned.name))


def built_on(planned: PlannedType, among: Sequence[PlannedType]) -> list[str]:
    """The longest plans first, at most three."""
    return [part.name for part in reversed(direct_parts(planned, among))][:_MOST_PREREQUISITES]


def plan_skills(types: Sequence[PlannedType]) -> list[AuthoredSkill]:
    return [
        AuthoredSkill(
            name=planned.name,
            description=f"Reach a goal of the kind {planned.name} by about {planned.steps} actions.",
            prerequisites=tuple(built_on(planned, types)),
            resolves=(planned.name,),
        )
        for planned in types
    ]


def plan_principles(cases: Sequence[Case], existing: Sequence[str]) -> list[AuthoredPrinciple]:
    shown: dict[str, list[str]] = {}
    for case in cases:
        for line in set(read_plan(case.solution)):
            shown.setdefault(line, []).append(case.question_id)
    ranked = sorted(shown, key=lambda line: (-len(shown[line]), line))
    sentences = {line: "`{0}`: {2}".format(*line.partition(": ")) for line in ranked}
    return [
        AuthoredPrinciple(do=sentence, cases=tuple(shown[line]))
        for line, sentence in sentences.items()
        if sentence not in existing
    ]
