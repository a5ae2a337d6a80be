"""Rule and judge side by side: a judge's opinion of every prediction, and how far it agrees with the rule.

Rules
    - In a run the rule decides first, and a judge is asked only about what it does not hold right. Here it is asked
      about all, with the same template and the same repairs, so that it can be seen how far to trust either.
    - An empty prediction is wrong, and nobody is asked about it.
    - Where no reply can be used, and where no reply comes, the opinion is 0 and is counted apart: what nobody could
      read is never right.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.protocol import Question, Verdict
from mage_es.engine.courses import Ask
from mage_es.engine.judging import opinion
from mage_es.engine.models.line import PATIENCE, Line, Patience, Toll, Unanswered
from mage_es.engine.models.seam import Completion, Model
from mage_es.events.vocabulary import ModelCalled

SHOWN = 1500
"""Characters from the end of a prediction that a judge is shown where the rule finds no answer in it."""


class Judge(NamedTuple):
    """The judge's model, and how it may be asked."""

    model: Model
    workers: int = 4
    toll: Toll | None = None
    patience: Patience = PATIENCE
    say: Callable[[str], None] = lambda words: None


class Case(NamedTuple):
    """A prediction before the judge: its question, what it says, the rule's verdict, and whether that counts as right.

    `is_right` is the strict verdict where that is asked for.
    """

    question: Question
    text: str
    verdict: Verdict
    is_right: bool


class Opinion(NamedTuple):
    """What a judge says of a prediction; `problem` is why it says nothing (`unreadable`, `unanswered`), else ""."""

    score: float = 0.0
    problem: str = ""
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def is_right(self) -> bool:
        """Return whether the judge holds the prediction right."""
        return self.score >= 0.5


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How often rule and judge hold predictions right, and how far they agree: in percent, and as Cohen's kappa.

    What is `unreadable` or `unanswered` counts as wrong by the judge, and stands in the table so.
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


def hear(cases: Sequence[Case], judge: Judge, template: str) -> list[Opinion]:
    """Return the judge's opinion of every case, in their order, asked with at most `judge.workers` at once.

    Raises:
        ProviderDown: No call to the judge can succeed at present.
        BudgetReached: The next call could take it over what may be spent.
    """
    return asyncio.run(_hear(cases, judge, template))


def agreement(cases: Sequence[Case], opinions: Sequence[Opinion], *, model: str, template: str) -> Agreement:
    """Return how far the rule and a judge's opinions agree."""
    pairs = [(case.is_right, said.is_right) for case, said in zip(cases, opinions, strict=True)]
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
        unreadable=sum(said.problem == "unreadable" for said in opinions),
        unanswered=sum(said.problem == "unanswered" for said in opinions),
        calls=sum(said.calls for said in opinions),
        input_tokens=sum(said.input_tokens for said in opinions),
        output_tokens=sum(said.output_tokens for said in opinions),
    )


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Return Cohen's kappa of two raters; 1 where both can only agree by chance, and 0 without any pair."""
    if not pairs:
        return 0.0
    first, second = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
    agreeing = sum(one == other for one, other in pairs) / len(pairs)
    by_chance = first * second + (1 - first) * (1 - second)
    return (agreeing - by_chance) / (1 - by_chance) if by_chance < 1 else 1.0


async def _hear(cases: Sequence[Case], judge: Judge, template: str) -> list[Opinion]:
    line = Line(judge.model, connections=judge.workers, patience=judge.patience, say=judge.say, toll=judge.toll)
    heard, left = [Opinion()] * len(cases), iter(enumerate(cases))
    async with aclosing(line):
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(judge.workers):
                    group.create_task(_work(left, heard, line, template))
        except BaseExceptionGroup as many:  # the others were only cancelled by the first
            raise many.exceptions[0] from None
    return heard


async def _work(left: Iterator[tuple[int, Case]], heard: list[Opinion], line: Line, template: str) -> None:
    for at, case in left:
        if case.text.strip():
            heard[at] = await _ask(case, line, template)


async def _ask(case: Case, line: Line, template: str) -> Opinion:
    """Ask about one case, again where a reply cannot be used, and return what it came to."""
    shown = msgspec.structs.replace(case.verdict, answer=case.verdict.answer or case.text[-SHOWN:])
    course, replies = opinion(case.question, shown, template), list[Completion]()
    move = next(course)
    while True:
        assert isinstance(move, Ask)
        try:
            answered = await line.complete(move.request, report=lambda failed: None)
        except Unanswered:
            return _came_to(replies, 0.0, "unanswered")
        replies.append(answered.completion)
        try:
            move = course.send(_fact(move, answered.completion, line.name))
        except StopIteration as end:
            verdict: Verdict | None = end.value
            return _came_to(replies, verdict.score, "") if verdict else _came_to(replies, 0.0, "unreadable")


def _came_to(replies: Sequence[Completion], score: float, problem: str) -> Opinion:
    tokens = (sum(reply.input_tokens for reply in replies), sum(reply.output_tokens for reply in replies))
    return Opinion(score, problem, len(replies), *tokens)


def _fact(move: Ask, completion: Completion, model: str) -> ModelCalled:
    """Return what the judge's course is told of a reply. It is recorded nowhere: there is no run."""
    return ModelCalled(
        iteration=-1,
        tier=move.tier,
        agent=move.agent,
        purpose=move.purpose,
        about=move.about,
        attempt=move.attempt,
        request_sha256=move.request.sha256,
        model=model,
        text=completion.text,
        stop_reason=completion.stop_reason,
        input_tokens=completion.input_tokens,
        output_tokens=completion.output_tokens,
    )
