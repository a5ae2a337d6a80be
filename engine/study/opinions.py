"""A judge's opinion of each of many predictions, asked for side by side, without a run."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple

import msgspec

from mage_es.engine.askings.agreement import JudgeCase, Opinion, opinion_so_far
from mage_es.engine.courses import Ask
from mage_es.engine.models.retrying import DEFAULT_RETRIES, RetryingClient, RetryPolicy, Unanswered
from mage_es.engine.seams.metering import SpendingGuard
from mage_es.engine.seams.model import Completion, Model
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

    async def work() -> None:
        for at, case in left:
            opinions[at] = await _ask(case, client, template)

    async with aclosing(client):
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(judge.workers):
                    group.create_task(work())
        except BaseExceptionGroup as many:  # the first error cancelled the others
            raise many.exceptions[0] from None
    return opinions


async def _ask(case: JudgeCase, client: RetryingClient, template: str) -> Opinion:
    """Ask about one case, repeatedly while replies are unusable, and return the opinion."""
    replies = dict[int, ModelCalled]()
    while isinstance(move := opinion_so_far(case, template, lambda ask: replies.get(ask.attempt)), Ask):
        try:
            answered = await client.complete(move.request, report=lambda failed: None)
        except Unanswered:
            return Opinion(problem="unanswered", replies=list(replies.values()))
        replies[move.attempt] = _fact(move, answered.completion, client.name)
    return move


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
