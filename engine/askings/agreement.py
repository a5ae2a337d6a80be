"""Rule and judge side by side: a judge's opinion of every prediction, and how far it agrees with the rule.

Rules
    - In a run the rule decides first, and a judge sees only what the rule does not accept. Here it sees every
      prediction, with the same template and the same repairs, to show how far either can be trusted.
    - An empty prediction is wrong; the judge does not see it.
    - An unusable or missing reply scores 0 and is counted separately: what cannot be read is never right.
"""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from mage_es.engine.courses import Ask
from mage_es.engine.rules.prompt import Templates
from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.session.judge import opinion
from mage_es.events.vocabulary import ModelCalled

SHOWN = 1500
"""How many characters from a prediction's end a judge sees if the rule finds no answer in it."""


class JudgeCase(NamedTuple):
    """A prediction for the judge, with the rule's verdict; `is_right` is the strict verdict if requested."""

    question: Question
    text: str
    verdict: Verdict
    is_right: bool


class Opinion(NamedTuple):
    """A judge's opinion of a prediction, and its replies; `problem`: why it is missing (`unreadable`, `unanswered`),
    else ""."""

    score: float = 0.0
    problem: str = ""
    replies: Sequence[ModelCalled] = ()

    @property
    def is_right(self) -> bool:
        return self.score >= 0.5


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How often rule and judge accept predictions, and how far they agree: in percent, and as Cohen's kappa.

    A prediction whose opinion is `unreadable` or `unanswered` counts as rejected by the judge.
    """

    model: str
    template: str
    predictions: int
    both: int
    rule_only: int
    judge_only: int
    neither: int
    agreement: float
    kappa: float
    unreadable: int
    unanswered: int
    calls: int
    input_tokens: int
    output_tokens: int


def agreement(cases: Sequence[JudgeCase], opinions: Sequence[Opinion], *, model: str, template: str) -> Agreement:
    pairs = [(case.is_right, said.is_right) for case, said in zip(cases, opinions, strict=True)]
    replies = [reply for said in opinions for reply in said.replies]
    problems = [said.problem for said in opinions]
    return Agreement(
        model=model,
        template=template,
        predictions=len(pairs),
        both=pairs.count((True, True)),
        rule_only=pairs.count((True, False)),
        judge_only=pairs.count((False, True)),
        neither=pairs.count((False, False)),
        agreement=100 * sum(rule == judge for rule, judge in pairs) / len(pairs) if pairs else 0.0,
        kappa=kappa(pairs),
        unreadable=problems.count("unreadable"),
        unanswered=problems.count("unanswered"),
        calls=len(replies),
        input_tokens=sum(reply.input_tokens for reply in replies),
        output_tokens=sum(reply.output_tokens for reply in replies),
    )


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Return Cohen's kappa of two raters; 1 if both can only agree by chance, and 0 without any pair."""
    if not pairs:
        return 0.0
    first, second = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
    agreeing = sum(one == other for one, other in pairs) / len(pairs)
    by_chance = first * second + (1 - first) * (1 - second)
    return (agreeing - by_chance) / (1 - by_chance) if by_chance < 1 else 1.0


def opinion_so_far(
    case: JudgeCase,
    template: str,
    recorded: Callable[[Ask], ModelCalled | None],
    templates: Templates = MappingProxyType({}),
) -> Opinion | Ask:
    """Return the judge's opinion of a case from the recorded replies, or else the first move that has no reply."""
    if not case.text.strip():
        return Opinion()
    # The judge sees the end of a text in which the rule finds no answer.
    verdict = msgspec.structs.replace(case.verdict, answer=case.verdict.answer or case.text[-SHOWN:])
    course, replies = opinion(case.question, verdict, template, templates), list[ModelCalled]()
    try:
        move = next(course)
        while called := recorded(move):
            replies.append(called)
            move = course.send(called)
    except StopIteration as end:
        judged: Verdict | None = end.value
        return Opinion(judged.score, "", replies) if judged else Opinion(problem="unreadable", replies=replies)
    return move
