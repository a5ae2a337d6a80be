"""Asking the execution model many planned questions at once, and recording each answer as it comes.

Rules
    - A reply and its verdict are durable before anything is learned from them.
    - How many questions are in flight changes the order of records and nothing else.
    - Answers that completed while the last commit was under way share the next one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.models.seam import Completion, Model, Request
from mage_es.events.vocabulary import QuestionPlanned


class Pending(NamedTuple):
    """A planned question with the request that asks it. `causation` is the sequence number of its plan."""

    planned: QuestionPlanned
    question: Question
    request: Request
    causation: int


class Answered(NamedTuple):
    """A reply, and how long it took in microseconds."""

    pending: Pending
    completion: Completion
    latency_us: int


Record = Callable[[Sequence[Answered]], None]


async def answer_all(
    pending: Sequence[Pending], *, model: Model, workers: int, record: Record, stop: Callable[[], bool]
) -> None:
    """Ask every question with at most `workers` in flight; `record` gets the answers in batches, in any order.

    When `stop` turns true no further question is asked. Whatever ends the asking, replies that have arrived are
    recorded first; the first failure of a model or of the log is then raised.
    """
    waiting = iter(pending)
    done: asyncio.Queue[Answered | None] = asyncio.Queue(maxsize=max(1, workers))
    recorder_failed = False

    async def keep_recording() -> None:
        nonlocal recorder_failed
        while (first := await done.get()) is not None:
            batch = [first, *_at_hand(done)]
            try:
                record(batch)
            except BaseException:
                recorder_failed = True
                raise

    async def ask_all() -> None:
        async with asyncio.TaskGroup() as askers:
            for _ in range(max(1, workers)):
                askers.create_task(_ask(waiting, model, done, stop))
        await done.put(None)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(keep_recording())
            group.create_task(ask_all())
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    finally:
        if not recorder_failed and (left := _at_hand(done)):
            record(left)


async def _ask(
    waiting: Iterator[Pending], model: Model, done: asyncio.Queue[Answered | None], stop: Callable[[], bool]
) -> None:
    for item in waiting:
        if stop():
            return
        began = time.perf_counter_ns()
        completion = await model.complete(item.request)
        await done.put(Answered(item, completion, (time.perf_counter_ns() - began) // 1000))


def _at_hand(done: asyncio.Queue[Answered | None]) -> list[Answered]:
    """Return what has completed already; an end mark stays for whoever waits for it."""
    batch: list[Answered] = []
    while not done.empty():
        item = done.get_nowait()
        if item is None:
            done.put_nowait(None)
            break
        batch.append(item)
    return batch


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first failure inside nested groups."""
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
