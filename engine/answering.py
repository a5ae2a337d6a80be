"""Following many courses at once, and recording every move of each as it comes.

Rules
    - What came of a move is durable before its course makes the next one; a verdict is durable together with the
      last reply. Only a step of an episode, which follows from the reply before it, may wait for the next commit.
    - In what order courses are begun and how many are followed at once changes the order of records, nothing else.
    - Moves that completed while the last commit was under way share the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.courses import Act, Ask, Course, Fact, Finish, Move, advance
from mage_es.events.envelope import Draft
from mage_es.events.errors import Interrupted
from mage_es.events.vocabulary import CallFailed, Event, QuestionPlanned


class Pending(NamedTuple):
    """A planned question, its course, and the move where that stands. `causation` is its plan's sequence number."""

    planned: QuestionPlanned
    question: Question
    course: Course
    move: Move | Finish
    causation: int


class Moved(NamedTuple):
    """What a move leaves in the log (nothing where a course had ended already), and the end of the course if it
    has come to it. `durable` is set once it is recorded."""

    pending: Pending
    drafts: Sequence[Draft]
    finish: Finish | None
    durable: asyncio.Event | None


Perform = Callable[[Pending, Move], Awaitable[Sequence[Draft]]]
"""Makes a move: its effect in the world, as facts not yet recorded. The first of them is what the course is sent."""
Record = Callable[[Sequence[Moved]], None]


def in_prefix_order(pending: Sequence[Pending]) -> list[Pending]:
    """Return courses in the order of the texts of their next prompts, those that ask nothing first.

    Prompts that begin alike follow one another then, so that a server still has their beginning in its cache.
    """
    return sorted(pending, key=lambda item: item.move.request.prompt if isinstance(item.move, Ask) else "")


async def answer_all(
    pending: Sequence[Pending], *, perform: Perform, workers: int, record: Record, stop: Callable[[], bool]
) -> None:
    """Follow every course to its end with at most `workers` at once; `record` gets the moves in batches, in any order.

    When `stop` turns true, or a move is refused because of a stop, no further move is made and those under way are
    waited for. Whatever ends the work, what has arrived is recorded first; the first failure of a move or of the log
    is then raised.
    """
    waiting = iter(pending)
    done: asyncio.Queue[Moved | None] = asyncio.Queue(maxsize=max(1, workers))
    recorder_failed = False
    stopped: list[Interrupted] = []

    async def keep_recording() -> None:
        nonlocal recorder_failed
        while (first := await done.get()) is not None:
            batch = [first, *_at_hand(done)]
            try:
                record(batch)
            except BaseException:
                recorder_failed = True
                raise
            for moved in batch:
                if moved.durable:
                    moved.durable.set()

    async def follow_all() -> None:
        async with asyncio.TaskGroup() as followers:
            for _ in range(max(1, workers)):
                followers.create_task(_follow(waiting, perform, done, lambda: bool(stopped) or stop(), stopped))
        await done.put(None)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(keep_recording())
            group.create_task(follow_all())
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    finally:
        if not recorder_failed and (left := _at_hand(done)):
            record(left)
    if stopped:
        raise stopped[0]


async def _follow(
    waiting: Iterator[Pending],
    perform: Perform,
    done: asyncio.Queue[Moved | None],
    stop: Callable[[], bool],
    stopped: list[Interrupted],
) -> None:
    for item in waiting:
        move = item.move
        if isinstance(move, Finish):  # its last reply was recorded by an earlier process, its verdict was not
            await done.put(Moved(item, (), move, None))
        while not isinstance(move, Finish):
            if stop():
                return
            try:
                made, drafts = move, await perform(item, move)
            except Interrupted as reason:
                stopped.append(reason)
                return
            move = _after(item.course, drafts[0].event)
            if isinstance(move, Finish):
                await done.put(Moved(item, drafts, move, None))
            elif isinstance(made, Act):  # follows from replies that are durable: it may share the next one's commit
                await done.put(Moved(item, drafts, None, None))
            else:
                durable = asyncio.Event()
                await done.put(Moved(item, drafts, None, durable))
                await durable.wait()


def _after(course: Course, fact: Event) -> Move | Finish:
    """Return the next move of a course, or its end, which a call that failed for good is."""
    if isinstance(fact, CallFailed):
        return Finish("", lost=f"{fact.fault}: {fact.problem}")
    assert isinstance(fact, Fact)
    return advance(course, fact)


def _at_hand(done: asyncio.Queue[Moved | None]) -> list[Moved]:
    """Return what has completed already; an end mark stays for whoever waits for it."""
    batch: list[Moved] = []
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
