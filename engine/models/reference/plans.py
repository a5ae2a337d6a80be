"""Plans by rule: what reference solutions share that are lists of actions with their effects, and not equations.

Rules
    - A solution is a plan if each of its lines is an action, a colon and what it led to, and none holds an equation.
    - A line is one piece of knowledge: two plans share what they have word for word.
    - One skill for each task type; prerequisites go from shorter plans to longer ones that contain most of their
      lines, so no cycle is possible.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from statistics import median_low
from typing import NamedTuple

from mage_es.engine.agents.briefs import AuthoredFailure, AuthoredSkill, Case, FailureBrief, TaskTypeSample
from mage_es.engine.models.reference.generalising import is_telling

_LINE = re.compile(r"([a-z][^:=]*): ([^=]+)")
_WORD = re.compile(r"[a-z]+")
_CONTAINED = Fraction(3, 5)
"""A task type builds on another whose lines are its own in at least this share."""
_MOST_PREREQUISITES = 3
_MOST_WORDS = 6
_LEAST_CASES = 2


class PlannedType(NamedTuple):
    """A task type whose solutions are plans: every line of theirs, and how long they usually are."""

    steps: int
    name: str
    lines: frozenset[str]

    def contains(self, other: PlannedType) -> bool:
        """Return whether another type, with shorter plans, is for the most part contained in this one."""
        is_shorter = (other.steps, other.name) < (self.steps, self.name)
        return is_shorter and len(other.lines & self.lines) >= _CONTAINED * len(other.lines)


def read_plan(solution: str) -> list[str]:
    """Return the lines of a plan; none if the solution is not one."""
    lines = [line.strip() for line in solution.splitlines() if line.strip()]
    return lines if all(_LINE.fullmatch(line) for line in lines) else []


def planned_types(samples: Iterable[TaskTypeSample]) -> list[PlannedType]:
    """Return the task types whose sample solutions are plans, those with the shortest plans first."""
    found = []
    for sample in samples:
        plans = [plan for solved in sample.samples if (plan := read_plan(solved.solution))]
        if plans:
            lines = frozenset(line for plan in plans for line in plan)
            found.append(PlannedType(median_low(map(len, plans)), sample.task_type, lines))
    return sorted(found, key=lambda planned: (planned.steps, planned.name))


def built_on(planned: PlannedType, among: Sequence[PlannedType]) -> list[str]:
    """Return the task types that one directly builds on, the longest plans first, at most three."""
    parts = [other for other in among if planned.contains(other)]
    direct = [part for part in parts if not any(between.contains(part) for between in parts)]
    return [part.name for part in reversed(direct)][:_MOST_PREREQUISITES]


def plan_skills(types: Sequence[PlannedType]) -> list[AuthoredSkill]:
    """Return one skill for each task type, named like it."""
    return [
        AuthoredSkill(
            name=planned.name,
            description=f"Reach a goal of the kind {planned.name} by about {planned.steps} actions.",
            prerequisites=tuple(built_on(planned, types)),
            resolves=(planned.name,),
        )
        for planned in types
    ]


def shared_steps(cases: Sequence[Case]) -> str:
    """Return the lines that at least two plans have, numbered in the order of the first plan that has them."""
    plans = [read_plan(case.solution) for case in cases]
    counts = Counter(line for plan in plans for line in set(plan))
    shared = dict.fromkeys(line for plan in plans for line in plan if counts[line] >= _LEAST_CASES)
    return "\n".join(f"{number}. {line}" for number, line in enumerate(shared, start=1))


def plan_strategies(brief: FailureBrief) -> list[AuthoredFailure]:
    """Return the steps that the failures' plans share as a strategy, if at least two of them share any."""
    steps = shared_steps(brief.cases)
    if not steps:
        return []
    spoken = [frozenset(_WORD.findall(case.question.lower())) for case in brief.cases if read_plan(case.solution)]
    words = sorted(word for word in frozenset.intersection(*spoken) if is_telling(word))[:_MOST_WORDS]
    first = next(case for case in brief.cases if read_plan(case.solution))
    return [
        AuthoredFailure(
            question_id=first.question_id,
            kind="type_strategy",
            recognise=f"A task of the kind {brief.task_type}, with the words: {', '.join(words)}.",
            reasoning=steps,
            answer=first.answer,
        )
    ]


def plan_principles(cases: Sequence[Case], existing: Sequence[str]) -> list[str]:
    """Return what actions lead to, as said by the plans: the commonest lines first that are not there yet."""
    counts = Counter(line for case in cases for line in set(read_plan(case.solution)))
    ranked = sorted(counts, key=lambda line: (-counts[line], line))
    sentences = [f"`{action}`: {effect}" for action, _, effect in (line.partition(": ") for line in ranked)]
    return [sentence for sentence in sentences if sentence not in existing]
