"""What right answers alone show if there is no readable solution: an answer that most questions of a kind share.

An episode's answer is its outcome, so it is never given as an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from mage_es.engine.briefs import AuthoredPrinciple, Case, FailureCase
from mage_es.engine.players.reference.plans import read_plan

_LEAST_CASES = 3
_MOST = Fraction(3, 4)
"""The share of questions that must have an answer for it to be stated for all of them."""


def is_episode(case: Case) -> bool:
    return isinstance(case, FailureCase) and bool(read_plan(case.wrong_reasoning))


def shared_answer(cases: Sequence[Case]) -> str:
    """Return "" if no answer is that common, or for episodes."""
    if any(map(is_episode, cases)):
        return ""
    counts = Counter(case.answer for case in cases)
    answer, count = counts.most_common(1)[0] if counts else ("", 0)
    return answer if count >= _LEAST_CASES and count >= _MOST * len(cases) else ""


def answer_principles(cases: Sequence[Case], existing: Sequence[str]) -> list[AuthoredPrinciple]:
    answer = shared_answer(cases)
    sentence = f"Questions of this kind are mostly answered with: {answer}."
    support = tuple(case.question_id for case in cases if case.answer == answer)
    return [AuthoredPrinciple(do=sentence, cases=support)] if answer and sentence not in existing else []


def answer_correction(case: FailureCase) -> str:
    return f"Not {case.wrong_answer}: the right answer is {case.answer}." if case.wrong_answer else case.answer
