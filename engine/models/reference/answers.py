"""What right answers alone show, where no solution can be read: an answer that most questions of a kind share.

Rules
    - Only the brief's own questions are counted, those that went right among them; few, or many answers, say nothing.
    - An episode's answer is what it came to, and nothing that could be given as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from mage_es.engine.agents.briefs import AuthoredFailure, Case, FailureBrief, FailureCase
from mage_es.engine.models.reference.plans import read_plan

_LEAST_CASES = 3
_MOST = Fraction(3, 4)
"""The share of the questions that an answer must have to be said of all of them."""


def is_episode(case: Case) -> bool:
    """Return whether a failure is an episode: a list of actions, each with what it led to."""
    return isinstance(case, FailureCase) and bool(read_plan(case.wrong_reasoning))


def shared_answer(cases: Sequence[Case]) -> str:
    """Return the answer that most questions have, "" if none has or they are episodes."""
    if any(map(is_episode, cases)):
        return ""
    counts = Counter(case.answer for case in cases)
    answer, count = counts.most_common(1)[0] if counts else ("", 0)
    return answer if count >= _LEAST_CASES and count >= _MOST * len(cases) else ""


def answer_principles(cases: Sequence[Case], existing: Sequence[str]) -> list[str]:
    """Return what most questions of a kind are answered with, as a principle that is not there yet."""
    answer = shared_answer(cases)
    sentence = f"Questions of this kind are mostly answered with: {answer}."
    return [sentence] if answer and sentence not in existing else []


def answer_strategies(brief: FailureBrief) -> list[AuthoredFailure]:
    """Return the same as a strategy for the task type of failures."""
    answer = shared_answer(brief.cases)
    if not answer:
        return []
    return [
        AuthoredFailure(
            question_id=brief.cases[0].question_id,
            kind="type_strategy",
            recognise=f"A question of the kind {brief.task_type}.",
            reasoning=f"Questions of this kind are mostly answered with: {answer}.",
            answer=answer,
        )
    ]


def told_by_answer(case: FailureCase) -> str:
    """Return the corrective reasoning for a question of which nothing but the right answer is known."""
    return f"Not {case.wrong_answer}: the right answer is {case.answer}." if case.wrong_answer else case.answer
