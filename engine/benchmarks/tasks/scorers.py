"""Scorers for own tasks, by name: how an answer is asked for, and when a reply is right.

    exact       the final answer equals a right one, apart from case, articles and punctuation
    contains    a right answer stands in the final answer, word for word
    f1          the share of common words, of which half is right (HotpotQA's)
    number      the final number equals the right one
    choice      the letter of the right option
    judge       exact; what is not goes to the judge model, if there is one (--judge)

Each is a pure function of the question and the reply that never raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.benchmarks.extraction import plain_answer
from mage_es.engine.benchmarks.hotpotqa.answers import exact_match, normalise_answer, overlap
from mage_es.engine.benchmarks.medqa import chosen
from mage_es.engine.benchmarks.numbers import ANSWER_FORMAT, number_in, read_number, score_number
from mage_es.engine.benchmarks.protocol import Question, Verdict

_FINISH = 'Finish with a line "Answer: <the answer, as short as it can be>".'


class Scorer(NamedTuple):
    """How the prompt asks for an answer, and the verdict on a reply."""

    answer_format: str
    verdict: Callable[[Question, str], Verdict]
    is_numeric: bool = False
    extract: Callable[[str], str] = plain_answer


def right_answers(question: Question) -> Sequence[str]:
    """Return the answers of which any will do."""
    answers: list[str] = json.loads(question.meta["answers"])
    return answers


def _exact(question: Question, reply: str) -> Verdict:
    answer = plain_answer(reply)
    is_right = any(exact_match(answer, right) for right in right_answers(question))
    return Verdict(answer=answer, score=float(is_right), strict=is_right)


def _contains(question: Question, reply: str) -> Verdict:
    answer = plain_answer(reply)
    words = f" {normalise_answer(answer)} "
    is_right = any(f" {normal} " in words for right in right_answers(question) if (normal := normalise_answer(right)))
    return Verdict(answer=answer, score=float(is_right), strict=_exact(question, reply).strict)


def _f1(question: Question, reply: str) -> Verdict:
    answer = plain_answer(reply)
    score = max(max(overlap(answer, right).f1, float(exact_match(answer, right))) for right in right_answers(question))
    return Verdict(answer=answer, score=score, strict=score == 1.0)


def _number(question: Question, reply: str) -> Verdict:
    verdicts = [score_number(right.replace(",", ""), reply) for right in right_answers(question)]
    return max(verdicts, key=lambda verdict: (verdict.score, verdict.strict))


def _choice(question: Question, reply: str) -> Verdict:
    options: dict[str, str] = json.loads(question.meta["options"])
    letter = chosen(reply, options)
    is_right = letter in right_answers(question)
    return Verdict(answer=letter, score=float(is_right), strict=is_right)


def _judge(question: Question, reply: str) -> Verdict:
    verdict = _exact(question, reply)
    is_open = not verdict.correct and bool(verdict.answer)
    return Verdict(answer=verdict.answer, score=verdict.score, strict=verdict.strict, undecided=is_open)


SCORERS: Mapping[str, Scorer] = {
    "exact": Scorer(_FINISH, _exact),
    "contains": Scorer(_FINISH, _contains),
    "f1": Scorer(_FINISH, _f1),
    "number": Scorer(ANSWER_FORMAT, _number, is_numeric=True, extract=number_in),
    "choice": Scorer('Finish with a line "Answer: [X]", X the letter of one option.', _choice),
    "judge": Scorer(_FINISH, _judge),
}
"""The scorers by name."""


def problem_with(question: Question, scorer: str) -> str:
    """Return why a scorer cannot check a task, "" if it can."""
    if scorer == "choice" and not json.loads(question.meta["options"]):
        return "options: there are none, and the scorer choice needs them"
    if SCORERS[scorer].is_numeric:
        bad = [answer for answer in right_answers(question) if read_number(answer) is None]
        return f"answer: {bad[0]!r} is no number, and the scorer number needs one" if bad else ""
    return ""
