"""A judge's opinion of each of many predictions, asked for side by side, without a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from typing import NamedTuple

import msgspec

from mage_es.engine.askings.agreement import JudgeCase, Opinion, verdict_for_judge
from mage_es.engine.courses import Ask
from mage_es.engine.models.retrying import DEFAULT_RETRIES, RetryingClient, RetryPolicy, Unanswered
from mage_es.engine.seams.benchmark import Verdict
from mage_es.engine.seams.metering import SpendingGuard
from mage_es.engine.seams.model import Completion, Model
from mage_es.engine.session.judge import opinion
from mage_es.events.vocabulary import ModelCalled


class Judge(NamedTuple):
    model: Model
    workers: int = 4
    spending: SpendingGuard | None = None
    retry_policy: RetryPolicy = DEFAULT_RETRIES
    say: Callable[[str], None] = lambda words: None


def opinions_of(cases: Sequence[JudgeCase], judge: Judge, template: str) -> list[Opinion]:
    """Return the judge's opinion of every case, in order, with at most `judge.workers` calls at once.

    Raises:
        ProviderDown: The judge's provider is down.
        BudgetReached: The next call could exceed the budget.
    """
    return asyncio.run(_opinions(cases, judge, template))


async def _opinions(cases: Sequence[JudgeCase], judge: Judge, template: str) -> list[Opinion]:
    client = RetryingClient(
        judge.model,
        connections=judge.workers,
        retry_policy=judge.retry_policy,
        announce=judge.say,
        spending=judge.spending,
    )
    opinions, left = [Opinion()] * len(cases), iter(enumerate(cases))
    async with aclosing(client):
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(judge.workers):
                    group.create_task(_work(left, opinions, client, template))
        except BaseExceptionGroup as many:  # the first error cancelled the others
            raise many.exceptions[0] from None
    return opinions


async def _work(
    left: Iterator[tuple[int, JudgeCase]], opinions: list[Opinion], client: RetryingClient, template: str
) -> None:
    for at, case in left:
        if case.text.strip():
            opinions[at] = await _ask(case, client, template)


async def _ask(case: JudgeCase, client: RetryingClient, template: str) -> Opinion:
    """Ask about one case, repeatedly while replies are unusable, and return the opinion."""
    course, replies = opinion(case.question, verdict_for_judge(case), template), list[Completion]()
    move = next(course)
    while True:
        assert isinstance(move, Ask)
        try:
            answered = await client.complete(move.request, report=lambda failed: None)
        except Unanswered:
            return Opinion(problem="unanswered", replies=replies)
        replies.append(answered.completion)
        try:
            move = course.send(_fact(move, answered.completion, client.name))
        except StopIteration as end:
            verdict: Verdict | None = end.value
            return Opinion(verdict.score, "", replies) if verdict else Opinion(problem="unreadable", replies=replies)


def _fact(move: Ask, completion: Completion, model: str) -> ModelCalled:
    """Return the event that the judge's course expects; there is no run, so nothing is recorded."""
    return ModelCalled(
        iteration=-1,
        tier=move.tier,
        agent=move.agent,
        purpose=move.purpose,
        about=move.about,
        attempt=move.attempt,
        request_sha256=move.request.sha256,
        model=model,
        **msgspec.structs.asdict(completion),
    )
