"""Critic: scores a reply in [0, 1], by the benchmark's rule, and by a judge where that has not the last word."""

from __future__ import annotations

from mage_es.engine.commands import RecordVerdict
from mage_es.engine.setting import Setting
from mage_es.events.envelope import Draft
from mage_es.events.vocabulary import MICRO, AnswerJudged
from mage_es.projections.fold import State


def record_verdict(setting: Setting, state: State, command: RecordVerdict) -> list[Draft]:
    """Return the verdict as an event; its score is rounded to millionths, the unit of every reward."""
    planned, verdict = command.planned, command.verdict
    judged = AnswerJudged(
        iteration=planned.iteration,
        purpose=planned.purpose,
        question_id=planned.question_id,
        task_type=planned.task_type,
        skill=planned.skill,
        answer=verdict.answer,
        expected=command.expected,
        score_micro=round(verdict.score * MICRO),
        correct=verdict.correct,
        strict=verdict.strict,
        judge=verdict.by,
    )
    draft = Draft(
        event=judged,
        iteration=planned.iteration,
        phase=command.phase,
        causation=command.causation,
        correlation=planned.question_id,
    )
    return [draft]
