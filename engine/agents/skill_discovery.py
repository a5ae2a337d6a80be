"""SkillDiscovery: what the guidance tier is told, before the first iteration and in every EVOLVE.

What becomes of its replies is in rules/ontology.py and rules/authoring.py; calling it is the shell's part.

Rules
    - A question (or a type's strategy) that was written about is written about again only `refresh_gap`
      iterations later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mage_es.engine.agents.briefs import (
    FailureBrief,
    FailureCase,
    OntologyBrief,
    PrinciplesBrief,
    SolvedSample,
    TaskTypeSample,
)
from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.rules.authoring import PRINCIPLES_PER_TARGET
from mage_es.engine.rules.curriculum import Candidate, candidates_of, select_targets
from mage_es.engine.rules.ontology import SKILL_CAP
from mage_es.engine.setting import Setting
from mage_es.projections.fold import State

SAMPLES_PER_TYPE = 5
"""Solved questions of each task type that the ontology is induced from."""


def ontology_brief(benchmark: str, questions: Sequence[tuple[Question, str]]) -> OntologyBrief:
    """Return the brief for the ontology from (question, task type) pairs, the first few of each type."""
    samples: dict[str, list[SolvedSample]] = {}
    for question, task_type in questions:
        of_type = samples.setdefault(task_type, [])
        if len(of_type) < SAMPLES_PER_TYPE:
            of_type.append(
                SolvedSample(question_id=question.id, question=question.question, solution=question.solution)
            )
    types = tuple(TaskTypeSample(task_type=name, samples=tuple(samples[name])) for name in sorted(samples))
    return OntologyBrief(benchmark=benchmark, task_types=types, skill_cap=SKILL_CAP)


def targets(setting: Setting, state: State, iteration: int) -> list[Candidate]:
    """Return the task types that EVOLVE writes for in this iteration (Eq. 3), best first."""
    signal = setting.config.failure_signal
    observed = {verdict.task_type: iteration - 1 for verdict in state.progress.verdicts("evaluate")}
    last = observed | {name: state.coverage.last_selected(name) for name in state.coverage.observed()}
    return select_targets(
        candidates_of(state.scores, last, iteration=iteration, signal=signal),
        iteration=iteration,
        recency_weight=setting.recency_weight,
        count=setting.config.targets,
        signal=signal,
    )


def failure_brief(
    setting: Setting, state: State, iteration: int, target: Candidate, questions: Mapping[str, Question]
) -> FailureBrief | None:
    """Return what is asked about a target's failures; None if all were written about too recently."""
    gap = setting.config.refresh_gap
    written = state.memory.latest_strategy(target.task_type)
    wants_strategy = written is None or iteration - written.iteration >= gap
    due = []
    for case in failure_cases(state, target, questions):
        latest = state.memory.latest_failure(case.question_id)
        if latest is None or iteration - latest.iteration >= gap:
            due.append(case)
    if not due:
        return None
    return FailureBrief(
        task_type=target.task_type,
        skill=state.graph.skill_for_task(target.task_type),
        cases=tuple(due[: setting.config.failure_memories_per_target]),
        wants_strategy=wants_strategy,
        limit=setting.config.failure_memories_per_target,
    )


def principles_brief(state: State, target: Candidate, questions: Mapping[str, Question]) -> PrinciplesBrief | None:
    """Return what is asked when principles are extracted for a target; None if it has no failure to learn from."""
    cases = failure_cases(state, target, questions)
    skill = state.graph.skill_for_task(target.task_type)
    if not cases:
        return None
    return PrinciplesBrief(
        task_type=target.task_type,
        skill=skill,
        cases=tuple(cases),
        existing=tuple(row.reasoning for row in state.memory.principles(skill)),
        limit=PRINCIPLES_PER_TARGET,
    )


def failure_cases(state: State, target: Candidate, questions: Mapping[str, Question]) -> list[FailureCase]:
    """Return this iteration's failures of a type, fresh questions before revisited ones, then by id."""
    answers = state.progress.verdicts("evaluate")
    wrong = [verdict for verdict in answers if verdict.task_type == target.task_type and not verdict.correct]
    return [
        FailureCase(
            question_id=verdict.question_id,
            question=questions[verdict.question_id].question,
            context=questions[verdict.question_id].context,
            wrong_answer=verdict.answer,
            wrong_reasoning=state.progress.reply("evaluate", verdict.question_id).text,
            answer=verdict.expected,
            solution=questions[verdict.question_id].solution,
        )
        for verdict in sorted(wrong, key=lambda v: (v.purpose != "fresh", v.question_id))
    ]
