"""Critic: scores a reply in [0, 1] by the benchmark's rule, or by a judge if the rule cannot decide.

Scoring itself needs the benchmark and sometimes a model, so the shell does it (session/judge.py).
"""

from mage_es.engine.commands import shared
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.seams.benchmark import Verdict
from mage_es.events.vocabulary import MICRO, AnswerJudged, AnswerUnanswered, AnswerUndecided, QuestionPlanned

UNEXPLAINED = "unexplained"
"""Why a verdict is undecided if the benchmark gives no reason."""


def judgement(planned: QuestionPlanned, verdict: Verdict, *, reason: str) -> AnswerJudged | AnswerUndecided:
    """Return the verdict as a fact; its score is rounded to millionths, the unit of every reward. [agents, Critic]"""
    if verdict.undecided:
        return AnswerUndecided(
            **shared(planned, AnswerUndecided), answer=verdict.answer, problem=verdict.why or UNEXPLAINED
        )
    return AnswerJudged(
        **shared(planned, AnswerJudged),
        answer=verdict.answer,
        score_micro=round(verdict.score * MICRO),
        correct=verdict.correct,
        strict=verdict.strict,
        judge=verdict.by,
        reason=reason,
        recalled=planned.routing_arm == RECALL,
    )


def unanswered(planned: QuestionPlanned, problem: str) -> AnswerUnanswered:
    """Return the fact that a question got no answer: it is neither right nor wrong."""
    return AnswerUnanswered(**shared(planned, AnswerUnanswered), problem=problem)
