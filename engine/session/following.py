"""Following many courses at once, and recording each of their moves.

Rules
    - The fact of a move is durable before its course makes the next one. A verdict is durable together with the last
      reply, or after it if its scorer runs in a process of its own (`Grade`). The one exception is an episode's step:
      it follows from the reply before it, so it may wait for the next commit.
    - The order in which courses start, and how many run at once, changes only the order of records.
    - Moves that are completed during a commit share the next commit (group commit).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from mage_es.engine.courses import Act, Ask, Course, Fact, Finish, Grade, Move, advance, catch_up
from mage_es.engine.seams.benchmark import Benchmark, Question, scored
from mage_es.events.errors import Interrupted
from mage_es.events.vocabulary import CallFailed, Draft, QuestionPlanned


class PendingCourse(NamedTuple):
    """A planned question, its course, and the course's next move. `causation` is the plan's sequence number; `recorded`
    finds a move's fact in the log, for moves after a recorded reply was scored."""

    planned: QuestionPlanned
    question: Question
    course: Course
    move: Move | Finish
    causation: int
    recorded: Callable[[Move], Fact | None] = lambda move: None


class CompletedMove(NamedTuple):
    """The facts of a move, and the end of the course if this was its last move.

    `drafts` is empty for a course that an earlier process finished. `durable` is set once the facts are recorded.
    """

    pending: PendingCourse
    drafts: Sequence[Draft]
    finish: Finish | None
    durable: asyncio.Event | None


Perform = Callable[[PendingCourse, Move], Awaitable[Sequence[Draft]]]
"""Makes a move and returns its facts, which are not recorded yet; the course is sent the first."""
RecordMoves = Callable[[Sequence[CompletedMove]], None]


def in_prefix_order(pending: Sequence[PendingCourse]) -> list[PendingCourse]:
    """Return courses sorted by their next prompts, so that prompts with a common prefix hit a server's prefix cache.

    [beyond the paper, order of asking] The order of sections within a prompt stays the paper's.
    """
    return sorted(pending, key=lambda item: item.move.request.text if isinstance(item.move, Ask) else "")


async def answer_all(
    pending: Sequence[PendingCourse],
    *,
    perform: Perform,
    workers: int,
    record: RecordMoves,
    stop: Callable[[], bool],
    benchmark: Benchmark,
) -> None:
    """Follow every course to its end, at most `workers` at once; `record` gets the moves in batches, in any order.
    The `benchmark` scores the replies that courses grade.

    Once `stop` is true, or a move raises `Interrupted`, no new move is made and those in progress are finished. Moves
    that have completed are recorded before the first error of a move or of the log is raised.
    """
    waiting = iter(pending)
    # Bounded, so that replies cannot pile up in memory while the disk is slow.
    done: asyncio.Queue[CompletedMove | None] = asyncio.Queue(maxsize=2 * max(1, workers))
    recorder_failed = False
    stopped: list[Interrupted] = []

    async def keep_recording() -> None:
        nonlocal recorder_failed
        while (first := await done.get()) is not None:
            # Whatever completed during the last commit: one sync of the disk for many moves.
            batch = [first, *_completed(done)]
            try:
                record(batch)
            except BaseException:  # whatever it is, nothing more may be recorded
                recorder_failed = True
                raise
            # Only now: what these courses do next must follow from facts that a crash cannot take back.
            for moved in batch:
                if moved.durable:
                    moved.durable.set()

    async def follow() -> None:
        # All followers share this iterator: each takes the next course that has not started.
        for item in waiting:
            move = item.move
            if isinstance(move, Finish):  # an earlier process recorded the last reply, but not the verdict
                await done.put(CompletedMove(item, (), move, None))
            while not isinstance(move, Finish):
                if stopped or stop():
                    return
                if isinstance(move, Grade):
                    # In a thread, so that waiting for a scorer's process holds up the calls of no other course.
                    verdict = await asyncio.to_thread(scored, benchmark, move.question, move.reply)
                    # The judge's replies to a rescored answer may be on record.
                    move = catch_up(item.course, advance(item.course, verdict), item.recorded)
                    if isinstance(move, Finish):
                        await done.put(CompletedMove(item, (), move, None))
                    continue
                try:
                    made, drafts = move, await perform(item, move)
                except Interrupted as reason:
                    # Not raised here: a task group would cancel the other followers in the middle of paid calls.
                    stopped.append(reason)
                    return
                fact = drafts[0].event
                is_spare = isinstance(made, Ask) and made.is_spare
                if isinstance(fact, CallFailed) and not is_spare:  # for good: the course ends here
                    move = Finish("", lost=f"{fact.fault}: {fact.problem}")
                else:
                    assert isinstance(fact, Fact)
                    move = advance(item.course, fact)
                if isinstance(move, Finish):
                    # Nothing of this course follows, so the worker takes the next without waiting for the commit.
                    await done.put(CompletedMove(item, drafts, move, None))
                elif isinstance(made, Act) or isinstance(move, Grade):  # what follows can be recomputed
                    await done.put(CompletedMove(item, drafts, None, None))
                else:
                    durable = asyncio.Event()
                    await done.put(CompletedMove(item, drafts, None, durable))
                    await durable.wait()

    async def follow_all() -> None:
        async with asyncio.TaskGroup() as followers:
            for _ in range(max(1, workers)):
                followers.create_task(follow())
        # Put behind every move, so that the recorder ends only after it has recorded them all.
        await done.put(None)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(keep_recording())
            group.create_task(follow_all())
    except BaseExceptionGroup as failures:
        # Callers catch single errors; the rest of a group is usually the same outage, met by other calls in flight.
        raise _first(failures) from None
    finally:
        # After a failed commit the log's state is unknown; appending more could only hide the first error.
        if not recorder_failed and (left := _completed(done)):
            record(left)
    if stopped:
        raise stopped[0]


def _completed(done: asyncio.Queue[CompletedMove | None]) -> list[CompletedMove]:
    """Return the moves in the queue, but leave the end mark there for the recorder."""
    batch: list[CompletedMove] = []
    while not done.empty():
        item = done.get_nowait()
        if item is None:
            done.put_nowait(None)
            break
        batch.append(item)
    return batch


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
